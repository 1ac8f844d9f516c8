/** `troupe session result <session>`: the result of a run, now or when it ends. */
import type { Command } from 'commander'
import type { SessionSummary } from '../../../client/report.ts'
import { ConflictError, TransientError } from '../../../core/errors.ts'
import { endWith, exitCodes } from '../../exit-code.ts'
import { withTroupe } from '../../host/connection.ts'
import { noticeFor } from '../../host/unhosted-notice.ts'
import { addRawOption, type ConnectionFlags, type RawFlag, wholeNumber } from '../../options.ts'
import { commandEndMsMax, Interrupt } from '../../terminal/interrupt.ts'
import { tell } from '../../terminal/output.ts'
import { printResult, tellRetry } from '../talk/print-result.ts'
import { addCommand, eitherId } from '../verb.ts'

interface ResultFlags extends ConnectionFlags, RawFlag {
  readonly run?: number
  readonly wait?: boolean
}

export function addResultCommand(group: Command): void {
  const command = addCommand(group, {
    name: 'result',
    description: 'the result of a run; exit code 1 if it failed, was cancelled or has not ended',
    takes: 'session',
    options: (command) =>
      addRawOption(
        command
          .option('--run <n>', 'the run of the first worker; default: the latest', wholeNumber(1))
          .option('--wait', 'wait until the run has ended'),
      ),
    examples: [
      ['troupe session result 0199… --wait --raw > report.md', 'text, or any other value as JSON'],
      ['troupe session result 0199… --run 2 --json', '{"type":"result","status":…}'],
    ],
  })
  command.action(result)
}

async function result(text: string, flags: ResultFlags): Promise<void> {
  using interrupt = new Interrupt(() => {}, commandEndMsMax)
  await withTroupe(flags, 'look', async (troupe) => {
    const session = troupe.sessions.get(await eitherId(troupe, text, 'session'))
    using _notice = flags.wait ? noticeFor(session, troupe, tell) : undefined
    const run = flags.wait ? flags.run : endedRun(await session.summary(), flags.run)
    try {
      const found = await session.result({ signal: interrupt.signal, run })
      printResult(session.id, found, flags)
      await tellRetry(session, found)
      endWith(found.status === 'completed' ? exitCodes.ok : exitCodes.failed)
    } catch (thrown) {
      if (flags.wait && thrown instanceof TransientError)
        tell(`troupe: session ${session.id} is not lost. Wait again with: troupe session result ${session.id} --wait`)
      if (interrupt.exitCode === undefined) throw thrown
      endWith(interrupt.exitCode)
    }
  })
}

/** The run to read, which has ended; undefined for the last run of a finished session. */
function endedRun(session: SessionSummary, wanted: number | undefined): number | undefined {
  const last = session.result?.run ?? 0
  if (wanted === undefined ? session.finishedAt !== null : wanted <= last || session.finishedAt !== null) return wanted
  if (wanted === undefined && last > 0) return last
  const run = wanted ?? last + 1
  throw new ConflictError(
    'transition_illegal',
    `run ${run} of session ${session.id} has not ended (it is ${session.state}); wait for it with --wait.`,
  )
}
