/** `troupe session follow <session>`: shows a session while it runs, whoever runs it, and prints its result. */
import type { Command } from 'commander'
import { TransientError } from '../../../../core/errors.ts'
import { endWith, exitCodes } from '../../../exit-code.ts'
import { configOf, withTroupe } from '../../../host/connection.ts'
import { isRemoteLog } from '../../../host/local-node.ts'
import { noticeFor } from '../../../host/unhosted-notice.ts'
import { addRawOption, type ConnectionFlags, type RawFlag } from '../../../options.ts'
import { commandEndMsMax, Interrupt } from '../../../terminal/interrupt.ts'
import { readerLeft } from '../../../terminal/output.ts'
import { sessionView } from '../../../terminal/session-view.ts'
import { Follower, watchRuns } from '../../talk/follow.ts'
import { printResult, tellRetry } from '../../talk/print-result.ts'
import { addCommand, eitherId } from '../../verb.ts'
import { FollowedHistories } from './followed-histories.ts'

interface FollowFlags extends ConnectionFlags, RawFlag {
  readonly history?: boolean
}

export function addFollowCommand(group: Command): void {
  const command = addCommand(group, {
    name: 'follow',
    description: 'show a session while it runs, from its beginning, and print its result',
    takes: 'session',
    options: (to) => addRawOption(to.option('--history', 'also the history entries of its workers, from the first on')),
    examples: [
      ['troupe session follow 0199…', 'a tree on a terminal, lines in a pipe'],
      ['troupe session follow 0199… --history', 'with what each worker received and said'],
      ['troupe session follow 0199… --json | jq -c .type', 'events as JSON lines'],
    ],
    details: 'Ctrl+C ends this command, and not the session.',
  })
  command.action(follow)
}

async function follow(text: string, flags: FollowFlags): Promise<void> {
  const config = await configOf(flags)
  using plain = sessionView(flags.json)
  using interrupt = new Interrupt(() => {}, commandEndMsMax)
  await withTroupe(flags, 'look', async (troupe) => {
    const session = troupe.sessions.get(await eitherId(troupe, text, 'session'))
    // A session that does not exist is an error before anything is shown.
    const { mode } = await interrupt.orThrow(session.summary())
    const histories = flags.history ? new FollowedHistories(troupe, session.id, plain, flags.json === true) : undefined
    const view = histories?.view ?? plain
    view.watch(session.rootId, mode === 'conversation' ? 'last' : 'each')
    using _notice = noticeFor(session, troupe, (line) => view.tell(line))
    await using follower = new Follower(
      session,
      view,
      (event) => flags.json === true || isRemoteLog(event, config.logLevel),
    )
    const howAgain = `Follow it again with: troupe session follow ${session.id}`
    const interrupted = interrupt.first
    const { promise: failed, reject } = Promise.withResolvers<never>()
    // With --json nobody else sees what is written. Without it, the lines are on stderr.
    const enough = flags.json === true ? readerLeft.then(() => 'enough' as const) : failed
    watchRuns(session, interrupt.signal).catch(reject)
    const how = await Promise.race([follower.ended, interrupted, failed, enough]).catch((thrown: unknown) => {
      if (thrown instanceof TransientError) view.tell(`troupe: session ${session.id} is not lost. ${howAgain}`)
      throw thrown
    })
    const isLeft = interrupt.signal.aborted || how === 'enough'
    const result = isLeft ? undefined : await session.result({ signal: interrupt.signal })
    if (result) await histories?.finish()
    view.end()
    if (result) {
      printResult(session.id, result, flags)
      await tellRetry(session, result)
      endWith(result.status === 'completed' ? exitCodes.ok : exitCodes.failed)
      return
    }
    view.tell(`troupe: session ${session.id} goes on. ${howAgain}`)
    endWith(interrupt.exitCode)
  })
}
