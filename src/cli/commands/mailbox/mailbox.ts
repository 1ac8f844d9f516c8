/** `troupe mailbox …`: the messages that wait for a worker, and dead letters. */
import type { Command } from 'commander'
import { addGroup } from '../../group.ts'
import { addDeadCommand } from './dead.ts'
import { addDismissCommand, addRedriveCommand } from './handle-letters.ts'
import { addListCommand } from './list.ts'

export function addMailboxCommands(program: Command): void {
  const group = addGroup(program, 'mailbox', 'waiting messages; dead letters', [
    ['troupe mailbox dead', 'list the dead letters'],
    ['troupe mailbox redrive 0199…', 'put those of a worker back into its mailbox'],
    ['troupe mailbox dismiss --all', 'mark all of them as dealt with'],
  ])
  addListCommand(group)
  addDeadCommand(group)
  addRedriveCommand(group)
  addDismissCommand(group)
}
