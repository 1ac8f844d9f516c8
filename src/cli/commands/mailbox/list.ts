/** `troupe mailbox list <worker>`: the messages that wait for a worker. */
import type { Command } from 'commander'
import type { Mail } from '../../../core/worker/message/message.ts'
import { messageLine } from '../../../words/lines/message-line.ts'
import { listing } from '../../view/answer.ts'
import type { Column } from '../../view/table.ts'
import { addLimitOption, addVerb } from '../verb.ts'

export function addListCommand(group: Command): void {
  addVerb<{ readonly limit: number }>(group, {
    name: 'list',
    description: 'messages that wait for a worker, in the order in which it will receive them',
    takes: 'worker',
    options: (command) => addLimitOption(command, 1_000, 'at most so many of each lane'),
    examples: [['troupe mailbox list 0199…', '']],
    purpose: 'look',
    answer: async (troupe, { id, flags: { limit } }) => {
      const mails = await troupe.workers.get(id).mailbox({ limit })
      const lanes = [...Map.groupBy(mails, ({ lane }) => lane).values()]
      const isCut = lanes.some(({ length }) => length === limit)
      return listing(mails, {
        columns,
        empty: 'The mailbox is empty.',
        more: isCut ? `The first ${limit} of each lane are shown; more with --limit.` : undefined,
      })
    },
  })
}

const columns: Column<Mail>[] = [
  { header: 'lane', value: ({ lane }) => lane },
  { header: 'position', value: ({ position }) => position, align: 'right' },
  { header: 'message', value: ({ message }) => messageLine(message), shrinksTo: 20 },
]
