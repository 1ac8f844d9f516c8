/** `troupe session result <id>`: how a run ended, now or when it ends. */
import type { Command } from 'commander'
import type { SessionStanding } from '../../client/report.ts'
import { ConflictError } from '../../core/errors.ts'
import { exitCodes } from '../exit-code.ts'
import { withTroupe } from '../host/connection.ts'
import { queuedIn, UnhostedNotice } from '../host/unhosted-notice.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, wholeNumber } from '../options.ts'
import { commandEndMsMax, Interrupt } from '../terminal/interrupt.ts'
import { tell } from '../terminal/output.ts'
import { printResult } from './result.ts'

/** All records of the session are read for it. */
const lookAgainMs = 30_000

interface ResultFlags extends ConnectionFlags {
  readonly run?: number
  readonly wait?: boolean
}

export function addSessionResultCommand(group: Command): void {
  const command = group
    .command('result')
    .description('the result of a run; exit code 1 when it failed, was cancelled or has not ended')
    .argument('<session>', 'id of the session')
    .option('--run <n>', 'of this run of the first worker; default: the latest', wholeNumber(1))
    .option('--wait', 'wait until the run has ended')
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe session result 0199… --wait > report.md', 'text as it is, anything else as JSON'],
    ['troupe session result 0199… --run 2 --json', '{"type":"result","status":…}'],
  ])
  command.action(result)
}

async function result(id: string, flags: ResultFlags): Promise<void> {
  using interrupt = new Interrupt(() => {}, commandEndMsMax)
  await withTroupe(flags, 'look', async (troupe) => {
    const session = troupe.sessions.get(id)
    using _notice = flags.wait ? new UnhostedNotice(troupe, () => queuedIn(session), tell, lookAgainMs) : undefined
    const run = flags.wait ? flags.run : endedRun(await session.standing(), flags.run)
    try {
      const found = await session.result({ signal: interrupt.signal, run })
      printResult(session.id, found, flags)
      process.exitCode = found.status === 'completed' ? exitCodes.ok : exitCodes.failed
    } catch (thrown) {
      if (interrupt.exitCode === undefined) throw thrown
      process.exitCode = interrupt.exitCode
    }
  })
}

/** The run to ask for, which has ended; undefined for the end of a finished session. */
function endedRun(session: SessionStanding, wanted: number | undefined): number | undefined {
  const last = session.result?.run ?? 0
  if (wanted === undefined ? session.finishedAt !== null : wanted <= last || session.finishedAt !== null) return wanted
  if (wanted === undefined && last > 0) return last
  const run = wanted ?? last + 1
  throw new ConflictError(
    'transition_illegal',
    `run ${run} of session ${session.id} has not ended (it is ${session.state}); wait for it with --wait.`,
  )
}
