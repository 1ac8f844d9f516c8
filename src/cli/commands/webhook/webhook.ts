/** `troupe webhook …`: addresses that are told of what happens in the namespace, and the deliveries to them. */
import type { Command } from 'commander'
import { addGroup } from '../../group.ts'
import { addAddCommand } from './add.ts'
import { addDisableCommand, addEnableCommand, addRemoveCommand, addRotateCommand } from './change.ts'
import { addDeliveriesCommand, addRedeliverCommand } from './deliveries.ts'
import { addListCommand, addShowCommand } from './show.ts'
import { addTestCommand } from './test.ts'

export function addWebhookCommands(program: Command): void {
  const group = addGroup(
    program,
    'webhook',
    'add, list, show, remove, rotate, enable, disable, test, deliveries, redeliver: who is told of what happens',
    [
      ['troupe webhook add https://example.com/hooks/troupe', 'told of each session that ends from now on'],
      ['troupe webhook test 0199…', 'a message to see that it arrives'],
      ['troupe webhook deliveries --state failed', 'what was not accepted, and why'],
    ],
  )
  addAddCommand(group)
  addListCommand(group)
  addShowCommand(group)
  addRemoveCommand(group)
  addRotateCommand(group)
  addEnableCommand(group)
  addDisableCommand(group)
  addTestCommand(group)
  addDeliveriesCommand(group)
  addRedeliverCommand(group)
}
