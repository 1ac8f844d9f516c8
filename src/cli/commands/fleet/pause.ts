/** `troupe pause --all` and `troupe resume --all`: the switch that holds the work of a whole namespace. */
import type { Command } from 'commander'
import { InputError } from '../../../core/errors.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

export interface WhoAndWhy {
  readonly reason?: string
  readonly by?: string
}

interface AllFlag {
  readonly all?: boolean
}

export function addWhoAndWhy(command: Command): Command {
  return command
    .option('--reason <text>', 'the reason, for the report and the events')
    .option(
      '--by <who>',
      'name of the one who asks for it, shown to people (default: the user and host of this process)',
    )
}

export function addPauseAllCommand(program: Command): void {
  addVerb<WhoAndWhy & AllFlag>(program, {
    name: 'pause',
    description: 'pause all sessions of the namespace: no node takes up work',
    options: (command) => addWhoAndWhy(command.option('--all', 'all sessions, also those to come; required')),
    examples: [['troupe pause --all --reason "the provider bills twice"', '']],
    details: `Each node learns it within about a second. Model calls and tools that run go on
to their end, and are recorded. What is sent waits in its order.
\`troupe session pause\` pauses one session.`,
    purpose: 'change',
    answer: async (troupe, { flags, namespace }) => {
      checkAll(flags, 'pause')
      await troupe.pause(flags.reason, { by: flags.by })
      return sentence(
        { type: 'paused', namespace },
        `all sessions of namespace ${namespace} are paused; go on with: troupe resume --all`,
      )
    },
  })
}

export function addResumeAllCommand(program: Command): void {
  addVerb<AllFlag>(program, {
    name: 'resume',
    description: 'end a pause of all sessions: nodes take up work again',
    options: (command) => command.option('--all', 'all sessions; required'),
    examples: [['troupe resume --all', '']],
    details: 'Sessions that were paused by themselves stay paused.',
    purpose: 'change',
    answer: async (troupe, { flags, namespace }) => {
      checkAll(flags, 'resume')
      await troupe.resume()
      return sentence(
        { type: 'resumed', namespace },
        `the sessions of namespace ${namespace} go on, but those that were paused by themselves`,
      )
    },
  })
}

function checkAll({ all }: AllFlag, verb: 'pause' | 'resume'): void {
  if (all) return
  throw new InputError(
    `troupe ${verb} is about all sessions: add --all. For one session: troupe session ${verb} <session>.`,
  )
}
