/** `troupe node show` and `troupe node release`: one node, what it runs, and giving that to other nodes when it stands still. */
import type { Command } from 'commander'
import type { NodeReport, ReleasedNode } from '../../../client/fleet/node-handle.ts'
import { count } from '../../../words/amounts.ts'
import { formatDuration } from '../../../words/duration.ts'
import { nodeState } from '../../../words/node-state.ts'
import { factLines, sentence } from '../../view/answer.ts'
import { withWorkerIds } from '../../view/objects.ts'
import { tableLines } from '../../view/table.ts'
import { waitsColumn, workerColumns } from '../../view/worker-columns.ts'
import { addVerb } from '../verb.ts'
import { addWhoAndWhy, type WhoAndWhy } from './pause.ts'

function takesNode(command: Command): Command {
  return command.argument('<node>', 'id of the node, as troupe node list shows it')
}

export function addNodeShowCommand(node: Command): void {
  addVerb(node, {
    name: 'show',
    description: 'one node, when it was last seen, and the workers that it runs',
    options: takesNode,
    examples: [['troupe node show n-4f3a9c0d12ab', '']],
    purpose: 'look',
    answer: async (troupe, { more: [id] }) => {
      const report = await troupe.node(String(id)).report()
      const { workers } = report
      const columns = [...workerColumns(workers), ...waitsColumn(workers, (worker) => worker, Date.now())]
      return {
        objects: [{ ...report, workers: workers.map(withWorkerIds) }],
        lines: (page) => [...factLines(factsOf(report), page), ...tableLines(workers, columns, page)],
        note: workers.length === 0 ? 'It runs no worker now.' : undefined,
      }
    },
  })
}

function factsOf(report: NodeReport) {
  const { id, host, pid, lastSeenMs, slots, pools, kinds } = report
  return [
    ['node', id],
    ['host', host],
    ['process', pid === null ? null : String(pid)],
    ['state', nodeState(report)],
    ['seen', `${formatDuration(lastSeenMs)} ago`],
    ['slots', String(slots)],
    ['pools', pools.join(', ')],
    ['kinds', kinds.join(', ')],
  ] as const
}

export function addNodeReleaseCommand(node: Command): void {
  addVerb<WhoAndWhy>(node, {
    name: 'release',
    description: 'give the work of a node that stands still to other nodes, now',
    options: (command) => addWhoAndWhy(takesNode(command)),
    examples: [['troupe node release n-4f3a9c0d12ab --reason "its machine hangs"', '']],
    details: `Without it other nodes go on when the leases have ended, 15 s at most. A node that
reports is refused: SIGTERM drains it. What a node that stood still commits later is
refused; code of it that still runs may have effects outside until it notices. Each
start counts, as when a lease ends.`,
    purpose: 'change',
    answer: async (troupe, { more: [id], flags: { reason, by } }) => {
      const released = await troupe.node(String(id)).release(reason, { by })
      return sentence({ type: 'nodeReleased', ...released }, releasedText(released))
    },
  })
}

function releasedText({ id, host, pid, released }: ReleasedNode): string {
  if (released === 0) return `node ${id}: it held no work`
  const process = pid === null ? 'its process' : `process ${pid} on ${host ?? 'its host'}`
  return `node ${id}: ${count(released, 'worker')} of it can go on elsewhere; end ${process}, or let it go on: what it still held is refused`
}
