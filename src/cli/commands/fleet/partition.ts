/** `troupe partition …`: the partitions of the namespace, and more of them. */
import type { Command } from 'commander'
import type { PartitionSummary } from '../../../client/summaries.ts'
import { count } from '../../../words/amounts.ts'
import { addGroup } from '../../group.ts'
import { wholeNumber } from '../../options.ts'
import { listing } from '../../view/answer.ts'
import type { Column } from '../../view/table.ts'
import { addVerb } from '../verb.ts'

export function addPartitionCommands(program: Command): void {
  const group = addGroup(
    program,
    'partition',
    'list, raise: the partitions of the namespace, over which a Redis Cluster spreads',
    [
      ['troupe partition list', 'where each is, how many sessions it has, who works in it'],
      ['troupe partition raise 8', 'before or after the move to a cluster'],
    ],
  )
  addVerb(group, {
    name: 'list',
    description: 'partitions, with their sessions, nodes and servers',
    examples: [['troupe partition list', '']],
    details: `nodes: live nodes that work in the partition. Some seconds after a raise they work in all.
away: the server of the partition does not answer, or refuses; see troupe doctor.`,
    purpose: 'look',
    answer: async (troupe) => listing(await troupe.partitions.list(), { columns, empty: '' }),
  })
  addRaise(group)
}

const columns: Column<PartitionSummary>[] = [
  { header: 'partition', value: ({ partition }) => partition, align: 'right' },
  { header: 'sessions', value: ({ sessions }) => sessions ?? 'away', align: 'right' },
  { header: 'nodes', value: ({ nodes }) => nodes ?? '', align: 'right' },
  { header: 'slot', value: ({ slot }) => slot, align: 'right' },
  { header: 'server', value: ({ server }) => server },
]

function addRaise(group: Command): void {
  addVerb(group, {
    name: 'raise',
    description: 'raise the number of partitions, also while sessions run',
    options: (command) => command.argument('<number>', 'how many partitions there are to be', wholeNumber(1)),
    examples: [['troupe partition raise 8', '']],
    details: `Sessions stay in the partition that their ids name. Those that are created from then
on go to all partitions. Nodes, clients and servers that run learn the new number
within seconds, and need no restart. Those that are told a number (--partitions) need
the new one when they next start. The number never falls. A raise that was interrupted
is finished by the same command.`,
    purpose: 'change',
    answer: async (troupe, { more: [number], namespace }) => {
      const to = Number(number)
      const from = await troupe.partitions.raise(to)
      const object = { type: 'raised', namespace, from, to }
      const line =
        from === to
          ? `namespace ${namespace} has ${count(from, 'partition')}: nothing to do`
          : `namespace ${namespace} has ${to} partitions now, and had ${from}: nodes and clients that run learn it within seconds`
      return { objects: [object], lines: () => [line] }
    },
  })
}
