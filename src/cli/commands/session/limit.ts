/** `troupe session limit <session> modelCalls=1000`: new limits for the model use of a session that goes on. */
import type { Command } from 'commander'
import type { Spending } from '../../../core/policy.ts'
import { spendingLimits } from '../../options.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

export function addLimitCommand(group: Command): void {
  addVerb(group, {
    name: 'limit',
    description: 'change how many model calls, tokens and tool calls all agents of a session may use together',
    takes: 'session',
    options: (command) =>
      command.argument(
        '<name=n...>',
        'modelCalls, tokens, toolCalls: a limit without a name here stays as it is',
        spendingLimits,
      ),
    examples: [
      ['troupe session limit 0199… modelCalls=2000', 'room for a conversation that goes on'],
      ['troupe session limit 0199… modelCalls=50,tokens=100000', 'two limits'],
    ],
    details: `The other limits of a session are fixed when it is created.
\`troupe session show\` shows all of them.`,
    purpose: 'change',
    answer: async (troupe, { id, more: [limits] }) => {
      const session = troupe.sessions.get(id)
      const { modelCalls, tokens, toolCalls } = await session.limit(limits as Partial<Spending>)
      return sentence(
        { type: 'limited', sessionId: session.id, modelCalls, tokens, toolCalls },
        `the agents of session ${session.id} may make ${modelCalls} model calls and ${toolCalls} tool calls and use ${tokens} tokens, all together`,
      )
    },
  })
}
