/** `troupe mailbox …`: what waits to be received, and what was put aside (cli/commands/dead-letters.ts). */
import type { Command } from 'commander'
import type { Mail } from '../../core/worker/message.ts'
import { withTroupe } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, wholeNumber } from '../options.ts'
import { printRows, tell } from '../terminal/output.ts'
import type { Column } from '../terminal/table.ts'
import { messageLine } from '../view/message-line.ts'
import { addDeadCommand, addDismissCommand, addRedriveCommand } from './dead-letters.ts'
import { addGroup } from './group.ts'

export function addMailboxCommands(program: Command): void {
  const group = addGroup(program, 'mailbox', 'what waits; dead letters', [
    ['troupe mailbox dead', 'what was put aside'],
    ['troupe mailbox redrive 0199…', 'put it back'],
    ['troupe mailbox dismiss --all', 'it is dealt with'],
  ])
  addListCommand(group)
  addDeadCommand(group)
  addRedriveCommand(group)
  addDismissCommand(group)
}

function addListCommand(group: Command): void {
  const command = group
    .command('list')
    .description('messages that wait for a worker, in the order in which it will receive them')
    .argument('<worker>', 'id of the worker')
    .option('--limit <n>', 'at most so many of each lane', wholeNumber(1), 1_000)
  addConnectionOptions(command)
  addExamples(command, [['troupe mailbox list 0199…', '']])
  command.action((id: string, flags: ConnectionFlags & { limit: number }) =>
    withTroupe(flags, 'look', async (troupe) => {
      const { limit } = flags
      const mails = await troupe.workers.get(id).mailbox({ limit })
      printRows(mails, mailColumns, flags, 'The mailbox is empty.')
      const isFull = [...Map.groupBy(mails, ({ lane }) => lane).values()].some(({ length }) => length === limit)
      if (isFull && !flags.json) tell(`The first ${limit} of each lane are shown; more with --limit.`)
    }),
  )
}

const mailColumns: Column<Mail>[] = [
  { header: 'lane', value: ({ lane }) => lane },
  { header: 'number', value: ({ sequence }) => sequence, align: 'right' },
  { header: 'message', value: ({ message }) => messageLine(message), shrinksTo: 20 },
]
