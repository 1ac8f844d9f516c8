/** `troupe node list`: the nodes that run, and those that have not been seen for long. */
import type { Command } from 'commander'
import type { NodeSummary } from '../../../client/summaries.ts'
import { formatDuration } from '../../../words/duration.ts'
import { nodeState } from '../../../words/node-state.ts'
import { listing } from '../../view/answer.ts'
import type { Column } from '../../view/table.ts'
import { addVerb } from '../verb.ts'

export function addNodeListCommand(node: Command): void {
  addVerb(node, {
    name: 'list',
    description: 'nodes that run, with their pools, slots and kinds',
    examples: [
      ['troupe node list', ''],
      ['troupe node list --json | jq -r .host', 'hosts for a script'],
    ],
    details: `stalled: a node that nobody has seen for 15 s. It stands still, or it died without
a word; its turns go on elsewhere. It is forgotten after a minute.
draining: a node that was told to stop. It takes up no work, and ends with its turns.`,
    purpose: 'look',
    answer: async (troupe, { namespace }) =>
      listing(await troupe.nodes({ stalled: true }), {
        columns,
        empty: `There are no nodes in namespace ${namespace}: start one with troupe node.`,
      }),
  })
}

const columns: Column<NodeSummary>[] = [
  { header: 'id', value: ({ id }) => id },
  { header: 'host', value: ({ host }) => host, shrinksTo: 8 },
  { header: 'pid', value: ({ pid }) => pid, align: 'right' },
  { header: 'state', value: nodeState },
  { header: 'seen', value: ({ lastSeenMs }) => formatDuration(lastSeenMs), align: 'right' },
  { header: 'slots', value: ({ slots }) => slots, align: 'right' },
  { header: 'pools', value: ({ pools }) => pools.join(', '), shrinksTo: 8 },
  { header: 'kinds', value: ({ kinds }) => kinds.join(', '), shrinksTo: 12 },
]
