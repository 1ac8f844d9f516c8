/** `troupe approval list`: the tool calls that wait for a person, of all sessions or of one. */
import type { Command } from 'commander'
import { addInboxList } from '../inbox-list.ts'
import { approvalObject, callerText, callText, stateText } from './approval-text.ts'

export function addListCommand(group: Command): void {
  addInboxList(group, {
    description: 'tool calls that wait for a person, the oldest first',
    entry: 'approval',
    examples: [
      ['troupe approval list', 'who waits for a decision, the longest first'],
      ['troupe approval list --session 0199… --state any', 'all that a session ever asked'],
      ['troupe approval list --json | jq -r .tool', 'for a script'],
    ],
    list: (troupe, query) => troupe.approvals.list(query),
    object: approvalObject,
    columns: [
      { header: 'state', value: stateText },
      { header: 'worker', value: callerText, shrinksTo: 8 },
      { header: 'call', value: callText, shrinksTo: 20 },
    ],
    nothing: 'No tool call waits for a person',
    advice: (open) => (open.length > 0 ? 'Look at one with: troupe approval show <id>' : undefined),
  })
}
