/** `troupe session limit <id> modelCalls=1000`: what the agents of a session that is going on may use, set anew. */
import type { Command } from 'commander'
import type { Spending } from '../../core/policy.ts'
import { withTroupe } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, spendingLimits } from '../options.ts'
import { print, printJson } from '../terminal/output.ts'

export function addSessionLimitCommand(group: Command): void {
  const command = group
    .command('limit')
    .description('set anew how many model calls and tokens the agents of a session may use, all together')
    .argument('<session>', 'id of the session')
    .argument('<name=n...>', 'modelCalls, tokens: what is not named stays as it is', spendingLimits)
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe session limit 0199… modelCalls=2000', 'a conversation that is to go on'],
    ['troupe session limit 0199… modelCalls=50,tokens=100000', 'no more than that'],
  ])
  command.addHelpText(
    'after',
    '\nThe other limits of a session are set when it is created. Both stand in `troupe session show`.',
  )
  command.action((id: string, given: Partial<Spending>, flags: ConnectionFlags) =>
    withTroupe(flags, 'change', async (troupe) => {
      const session = troupe.sessions.get(id)
      const { modelCalls, tokens } = await session.limit(given)
      if (flags.json) printJson({ type: 'limited', sessionId: session.id, modelCalls, tokens })
      else
        print(
          `the agents of session ${session.id} may make ${modelCalls} model calls and use ${tokens} tokens, all together`,
        )
    }),
  )
}
