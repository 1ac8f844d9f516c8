/** `troupe approval list`: the tool calls that wait for a person, of all sessions or of one. */
import { type Command, Option } from 'commander'
import type { Approval } from '../../../client/approvals.ts'
import { type AskState, askStates } from '../../../core/worker/ask.ts'
import { listing, moreNote } from '../../view/answer.ts'
import { formatDuration } from '../../view/duration.ts'
import type { Column } from '../../view/table.ts'
import { addLimitOption, addVerb, eitherId } from '../verb.ts'
import { approvalObject, callerText, callText, stateText } from './approval-text.ts'

interface ListFlags {
  readonly session?: string
  readonly state: AskState | 'any'
  readonly limit: number
  readonly after?: string
}

export function addListCommand(group: Command): void {
  addVerb<ListFlags>(group, {
    name: 'list',
    description: 'tool calls that wait for a person, the oldest first',
    options: (command) =>
      addLimitOption(command, 50)
        .option('--session <id>', 'only those of this session, at any depth of its tree')
        .addOption(
          new Option('--state <state>', 'with --session: those that have ended, too')
            .choices([...askStates, 'any'])
            .default('open'),
        )
        .option('--after <id>', 'those behind this approval: the next page'),
    examples: [
      ['troupe approval list', 'who waits for a decision, the longest first'],
      ['troupe approval list --session 0199… --state any', 'all that a session ever asked'],
      ['troupe approval list --json | jq -r .tool', 'for a script'],
    ],
    purpose: 'look',
    answer: async (troupe, { flags: { session, state, limit, after }, namespace }) => {
      const sessionId = session === undefined ? undefined : await eitherId(troupe, session, 'session')
      const approvals = await troupe.approvals.list({ sessionId, state, limit, after })
      const isOpen = approvals.some((approval) => approval.state === 'open')
      const how = isOpen ? 'Look at one with: troupe approval show <id>' : undefined
      return listing(approvals, {
        columns,
        object: approvalObject,
        empty:
          sessionId === undefined ? `No tool call waits for a person in namespace ${namespace}.` : 'There are none.',
        more: [moreNote(approvals, limit, 'first'), how].filter(Boolean).join('\n') || undefined,
      })
    },
  })
}

const columns: Column<Approval>[] = [
  { header: 'id', value: ({ id }) => id },
  { header: 'since', value: ({ askedAt }) => formatDuration(Date.now() - askedAt) },
  { header: 'state', value: stateText },
  { header: 'worker', value: callerText, shrinksTo: 8 },
  { header: 'call', value: callText, shrinksTo: 20 },
  { header: 'session', value: ({ sessionId }) => sessionId },
]
