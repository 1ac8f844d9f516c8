/** `troupe session retry <session>`: a session that failed goes on at its failed step. */
import { type Command, Option } from 'commander'
import { type UnknownDecision, unknownDecisions } from '../../../core/history/run/unknown-decision.ts'
import type { Spending } from '../../../core/policy.ts'
import { spendingLimits } from '../../options.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

interface Flags {
  readonly unknown?: UnknownDecision
  readonly limits?: Partial<Spending>
}

export function addRetryCommand(group: Command): void {
  addVerb<Flags>(group, {
    name: 'retry',
    description: 'let a session that failed go on at its failed step, with the history that it has',
    takes: 'session',
    options: (command) =>
      command
        .addOption(
          new Option('--unknown <decision>', 'what became of calls whose outcome is unknown').choices(unknownDecisions),
        )
        .option(
          '--limits <name=n,...>',
          'modelCalls, tokens, toolCalls: more for all its agents together',
          spendingLimits,
        ),
    examples: [
      ['troupe session retry 0199…', 'the provider is back, or the tool is mended'],
      ['troupe session retry 0199… --unknown done', 'the payment went out: tell the model so'],
      ['troupe session retry 0199… --limits tokens=4000000', 'it had used up its tokens'],
    ],
    details: `A model call is made again, a handler receives its message again, tool calls that failed the run are run again.
No recorded step is repeated. --unknown again: the calls took no effect, run them again.
--unknown failed: they took no effect, tell the model so. --unknown done: they took effect.`,
    purpose: 'change',
    answer: async (troupe, { id, flags: { unknown, limits } }) => {
      const session = troupe.sessions.get(id)
      const { run, step } = await session.retry({ unknown, limits })
      return sentence(
        { type: 'retried', sessionId: session.id, run, step },
        `session ${session.id} goes on in run ${run} with ${step}`,
      )
    },
  })
}
