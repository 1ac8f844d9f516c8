/** `troupe worker …`: one worker, or all of a session. */
import type { Command } from 'commander'
import type { WorkerReport } from '../../client/report.ts'
import type { Permissions } from '../../core/worker/permissions.ts'
import { withTroupe } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, wholeNumber } from '../options.ts'
import { printFacts, printJson, printRows, safe, tell } from '../terminal/output.ts'
import { formatMoment, momentAndAge } from '../view/duration.ts'
import { failureSentence } from '../view/failure-text.ts'
import { paintState } from '../view/state-colour.ts'
import { usageText, workerColumns } from '../view/worker-columns.ts'
import { addGroup } from './group.ts'
import { addWorkerHistoryCommand } from './worker-history.ts'

export function addWorkerCommands(program: Command): void {
  const group = addGroup(program, 'worker', 'list, show, read histories', [
    ['troupe worker history 0199…', 'what it received'],
  ])
  addListCommand(group)
  addShowCommand(group)
  addWorkerHistoryCommand(group)
}

function addListCommand(group: Command): void {
  const command = group
    .command('list')
    .description('workers with what they do now')
    .option('--session <id>', 'only those of this session')
    .option('--limit <n>', 'at most so many', wholeNumber(1), 100)
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe worker list --session 0199…', 'those of one session'],
    ["troupe worker list --json | jq -r 'select(.lastFailure) | .id'", 'those that failed'],
  ])
  command.action((flags: ConnectionFlags & { session?: string; limit: number }) =>
    withTroupe(flags, 'look', async (troupe, { namespace }) => {
      const { session, limit } = flags
      const workers = await troupe.workers.list({ limit, sessionId: session })
      printRows(workers, workerColumns(workers), flags, `There are no workers in namespace ${namespace}.`)
      if (workers.length === limit && !flags.json) tell(`The first ${limit} are shown; more with --limit.`)
    }),
  )
}

function addShowCommand(group: Command): void {
  const command = group
    .command('show')
    .description('one worker: state, failure, mailbox, what it waits for')
    .argument('<worker>', 'id of the worker')
  addConnectionOptions(command)
  addExamples(command, [['troupe worker show 0199…', '']])
  command.action((id: string, flags: ConnectionFlags) =>
    withTroupe(flags, 'look', async (troupe) => {
      const report = await troupe.workers.get(id).report()
      if (flags.json) printJson(report)
      else show(report)
    }),
  )
}

/** As `--permissions` takes it. */
function permissionsText({ tools, kinds, folder }: Permissions): string {
  const parts = [tools && `tools=${tools.join(',')}`, kinds && `kinds=${kinds.join(',')}`, folder && `folder=${folder}`]
  return parts.filter(Boolean).join(' ')
}

function show(worker: WorkerReport): void {
  const { state, lastFailure, mailbox } = worker
  printFacts([
    ['worker', worker.id],
    ['name', safe(worker.name)],
    ['kind', safe(worker.kind)],
    ['session', worker.sessionId],
    ['permissions', worker.permissions && safe(permissionsText(worker.permissions))],
    ['parent', worker.parentId],
    ['depth', String(worker.depth)],
    ['state', `${paintState(state, state)} (${worker.lifecycle})`],
    ['run', worker.run],
    ['waits for', worker.waitsFor && safe(worker.waitsFor)],
    ['runs', String(worker.runs)],
    ['iterations', worker.usage.modelCalls === undefined ? null : String(worker.iterations)],
    ['usage', usageText(worker.usage)],
    ['open children', worker.openChildren === 0 ? null : String(worker.openChildren)],
    ['history', `${worker.historyLength} entries`],
    ['mailbox', mailbox.pending === 0 ? 'empty' : `${mailbox.pending} pending, ${mailbox.signals} of them control`],
    ['node', worker.node && safe(worker.node)],
    ['updated', momentAndAge(worker.updatedAt)],
    ['last failure', lastFailure && safe(failureSentence(lastFailure))],
    [
      'failed at',
      lastFailure && `${formatMoment(lastFailure.at)}${lastFailure.retryable ? ', can be tried again' : ''}`,
    ],
  ])
}
