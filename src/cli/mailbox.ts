/** `troupe mailbox …`: what waits to be received, and what was put aside. */
import type { Command } from 'commander'
import type { DeadLetter } from '../client/client.ts'
import type { Failure } from '../core/failure.ts'
import type { Mail } from '../core/message.ts'
import { withTroupe } from './connection.ts'
import { formatMoment } from './duration.ts'
import { failureCause } from './failure-text.ts'
import { addGroup } from './group.ts'
import { messageLine } from './message-line.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, wholeNumber } from './options.ts'
import { printRows } from './output.ts'
import type { Column } from './table.ts'

export function addMailboxCommands(program: Command): void {
  const group = addGroup(program, 'mailbox', 'what waits; dead letters', [
    ['troupe mailbox dead', 'what was put aside'],
  ])
  addListCommand(group)
  addDeadCommand(group)
}

function addListCommand(group: Command): void {
  const command = group
    .command('list')
    .description('messages that wait for a worker, in the order in which it will receive them')
    .argument('<worker>', 'id of the worker')
  addConnectionOptions(command)
  addExamples(command, [['troupe mailbox list 0199…', '']])
  command.action((id: string, flags: ConnectionFlags) =>
    withTroupe(flags, async (troupe) => {
      const mails = await troupe.workers.get(id).mailbox()
      printRows(mails, mailColumns, flags, 'The mailbox is empty.')
    }),
  )
}

const mailColumns: Column<Mail>[] = [
  { header: 'lane', value: ({ lane }) => lane },
  { header: 'number', value: ({ sequence }) => sequence, align: 'right' },
  { header: 'message', value: ({ message }) => messageLine(message), shrinksTo: 20 },
]

function addDeadCommand(group: Command): void {
  const command = group
    .command('dead')
    .description('messages that were put aside because they took their node down, newest first')
    .option('--limit <n>', 'at most so many', wholeNumber(1), 50)
  addConnectionOptions(command)
  addExamples(command, [['troupe mailbox dead --json', 'with all the evidence']])
  command.action((flags: ConnectionFlags & { limit: number }) =>
    withTroupe(flags, async (troupe) => {
      const letters = await troupe.deadLetters({ limit: flags.limit })
      printRows(letters, deadColumns, flags, 'There are no dead letters.')
    }),
  )
}

const deadColumns: Column<DeadLetter>[] = [
  { header: 'put aside', value: ({ id }) => formatMoment(Number(id.split('-')[0])) },
  { header: 'worker', value: ({ workerId }) => workerId },
  { header: 'message', value: ({ message }) => messageLine(message), shrinksTo: 8 },
  { header: 'why', value: ({ evidence }) => whyDead(evidence), shrinksTo: 8 },
]

function whyDead({ failure, ...rest }: DeadLetter['evidence']): string {
  return failure === undefined ? JSON.stringify(rest) : failureCause(failure as Failure)
}
