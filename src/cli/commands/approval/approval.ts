/** `troupe approval …`: tool calls that wait for a person, and the decisions. */
import type { Command } from 'commander'
import { addGroup } from '../../group.ts'
import { addApproveCommand, addDenyCommand } from './decide.ts'
import { addListCommand } from './list.ts'
import { addShowCommand } from './show.ts'

export function addApprovalCommands(program: Command): void {
  const group = addGroup(program, 'approval', 'tool calls that wait for a person: list, show, approve, deny', [
    ['troupe approval list', 'who waits for a decision, the longest first'],
    ['troupe approval show 0199…', 'what would run, with its arguments'],
    ['troupe approval approve 0199…', 'it runs'],
    ['troupe approval deny 0199… --reason "too much"', 'it does not, and the model reads why'],
  ])
  addListCommand(group)
  addShowCommand(group)
  addApproveCommand(group)
  addDenyCommand(group)
}
