/** `troupe session show <id>`: a session and all its workers, as the supervisor reports them. */
import type { Command } from 'commander'
import type { Report } from '../../client/report.ts'
import { limitNames } from '../../core/policy.ts'
import { withTroupe } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags } from '../options.ts'
import { print, printFacts, printJson, printTable, safe } from '../terminal/output.ts'
import { formatDuration, formatMoment, momentAndAge } from '../view/duration.ts'
import { failureSentence } from '../view/failure-text.ts'
import { paintState } from '../view/state-colour.ts'
import { usageText, waitsColumn, workerColumns } from '../view/worker-columns.ts'

export function addSessionShowCommand(group: Command): void {
  const command = group
    .command('show')
    .description('a session and its workers: states, failures, limits')
    .argument('<session>', 'id of the session')
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe session show 0199…', 'for people'],
    ['troupe session show 0199… --json | jq .session.state', 'for a script'],
  ])
  command.action((id: string, flags: ConnectionFlags) =>
    withTroupe(flags, 'look', async (troupe) => {
      const report = await troupe.sessions.get(id).report()
      if (flags.json) printJson(report)
      else show(report)
    }),
  )
}

function show({ session, workers }: Report): void {
  const { state, mode, createdAt, finishedAt, limits, result, failure } = session
  const waitsFor = workers.find(({ id }) => id === session.rootId)?.waitsFor
  printFacts([
    ['session', session.id],
    ['name', session.name === session.kind ? null : safe(session.name)],
    ['kind', safe(session.kind)],
    ['state', paintState(state, state) + (session.cancelReason ? ` (${safe(session.cancelReason)})` : '')],
    ['mode', mode],
    ['waits for', finishedAt === null && waitsFor ? safe(waitsFor) : null],
    ['created', momentAndAge(createdAt)],
    ['finished', finishedAt === null ? null : formatMoment(finishedAt) + lasted(createdAt, finishedAt)],
    ['limits', limitNames.map((name) => `${name} ${limits[name]}`).join(', ')],
    ['workers', String(session.usage.workers)],
    ['usage', usageText(session.usage)],
    ['last run', result && `${result.run}, ${result.status}`],
    ['failure', failure && safe(failureSentence(failure))],
  ])
  print('')
  printTable(workers, [...workerColumns(workers), ...waitsColumn(workers)])
}

function lasted(createdAt: number | null, finishedAt: number): string {
  return createdAt === null ? '' : `, after ${formatDuration(finishedAt - createdAt)}`
}
