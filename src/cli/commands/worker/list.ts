/** `troupe worker list`: the workers of the newest sessions, or of one session. */
import type { Command } from 'commander'
import type { WorkerReport } from '../../../client/report.ts'
import { listing, moreNote } from '../../view/answer.ts'
import { withWorkerIds } from '../../view/objects.ts'
import { waitsColumn, workerColumns } from '../../view/worker-columns.ts'
import { AwayPartitions } from '../away-partitions.ts'
import { addLimitOption, addVerb, eitherId } from '../verb.ts'

interface ListFlags {
  readonly session?: string
  readonly limit: number
}

export function addListCommand(group: Command): void {
  addVerb<ListFlags>(group, {
    name: 'list',
    description: 'workers and their states',
    options: (command) => addLimitOption(command.option('--session <id>', 'only workers of this session'), 100),
    examples: [
      ['troupe worker list --session 0199…', 'the workers of one session'],
      ["troupe worker list --json | jq -r 'select(.lastFailure) | .workerId'", 'workers that failed'],
    ],
    purpose: 'look',
    answer: async (troupe, { flags: { session, limit }, namespace }) => {
      const sessionId = session === undefined ? undefined : await eitherId(troupe, session, 'session')
      const away = new AwayPartitions()
      const workers = await troupe.workers.list({ limit, sessionId, onAway: away.note })
      return listing(workers, {
        columns: [...workerColumns(workers), ...waitsColumn<WorkerReport>(workers, (worker) => worker, Date.now())],
        object: withWorkerIds,
        empty: `There are no workers in namespace ${namespace}.`,
        more: moreNote(workers, limit, 'first'),
        failure: away.failure,
      })
    },
  })
}
