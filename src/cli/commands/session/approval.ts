/** `troupe session approval <session> <policy>`: which tool calls of a session a person is asked about from now on. */
import { Argument, type Command } from 'commander'
import { type ApprovalPolicy, approvalPolicies } from '../../../core/worker/ask/session-approval.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

const meanings: Readonly<Record<ApprovalPolicy, string>> = {
  manual: 'a person approves the tool calls that its tools and kinds say',
  auto: 'tool calls run without a person, but for dangerous tools and those that a rule denies',
  readOnly: 'calls of tools that are not pure are denied',
}

export function addApprovalCommand(group: Command): void {
  addVerb(group, {
    name: 'approval',
    description: 'set which tool calls of a session a person is asked about',
    takes: 'session',
    options: (command) =>
      command.addArgument(new Argument('<policy>', 'manual, auto or readOnly').choices(approvalPolicies)),
    examples: [
      ['troupe session approval 0199… auto', 'ask about dangerous tools alone'],
      ['troupe session approval 0199… readOnly', 'from its next step on, nothing is changed outside'],
      ['troupe session approval 0199… manual', 'as tools and kinds say; takes back trust in tools'],
    ],
    details: `Agents that run learn of it with their next step. Asks that are open stay open:
\`troupe approval list\` shows them. A new policy takes back all trust in tools.`,
    purpose: 'change',
    answer: async (troupe, { id, more: [policy] }) => {
      const session = troupe.sessions.get(id)
      const approval = await session.setApproval(policy as ApprovalPolicy)
      return sentence(
        { type: 'approvalChanged', sessionId: session.id, ...approval },
        `session ${session.id} is ${approval.policy}: ${meanings[approval.policy]}`,
      )
    },
  })
}
