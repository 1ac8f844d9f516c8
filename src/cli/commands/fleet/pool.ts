/** `troupe pool …`: pools of nodes, and how much work each has. */
import type { Command } from 'commander'
import type { PoolSummary } from '../../../client/summaries.ts'
import { formatDuration } from '../../../words/duration.ts'
import { addGroup } from '../../group.ts'
import { listing } from '../../view/answer.ts'
import type { Column } from '../../view/table.ts'
import { AwayPartitions } from '../away-partitions.ts'
import { addVerb } from '../verb.ts'

export function addPoolCommands(program: Command): void {
  const group = addGroup(program, 'pool', 'list: what waits in each pool, and for how many nodes', [
    ['troupe pool list', 'waiting workers, due timers, nodes there are and nodes it takes'],
  ])
  addVerb(group, {
    name: 'list',
    description: 'pools, what waits in each, and how many nodes it needs',
    examples: [
      ['troupe pool list', ''],
      ['troupe pool list --json | jq \'select(.pool == "gpu").expectedNodes\'', 'for a script that starts nodes'],
    ],
    details: `waiting: workers in the run queues. due: timers and retries of the next minute.
busy: turns that last. expected: nodes with a slot for each of these, with as many
slots as the nodes of the pool have on average, or 50 where there is none.`,
    purpose: 'look',
    answer: async (troupe, { namespace }) => {
      const away = new AwayPartitions()
      return listing(await troupe.pools.list({ onAway: away.note }), {
        columns,
        empty: `There are no pools in namespace ${namespace}: no node ever ran there.`,
        failure: away.failure,
      })
    },
  })
}

const columns: Column<PoolSummary>[] = [
  { header: 'pool', value: ({ pool }) => pool },
  { header: 'waiting', value: ({ waiting }) => waiting, align: 'right' },
  { header: 'oldest', value: ({ oldestMs }) => (oldestMs === null ? null : formatDuration(oldestMs)), align: 'right' },
  { header: 'due', value: ({ due }) => due, align: 'right' },
  { header: 'busy', value: ({ busy }) => busy, align: 'right' },
  { header: 'nodes', value: ({ nodes }) => nodes, align: 'right' },
  { header: 'slots', value: ({ slots }) => slots, align: 'right' },
  { header: 'expected', value: ({ expectedNodes }) => expectedNodes, align: 'right' },
]
