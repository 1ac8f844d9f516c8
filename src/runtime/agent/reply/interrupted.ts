/**
 * Duty: answer in the conversation that a reply took too long: the model reads that it did, and how to go on.
 * INTERRUPTED-1 What it had written is not kept: only a whole reply is a reply. In its place stands a sentence of ours, marked as such.
 * INTERRUPTED-2 How often this was done follows from the history alone. Beyond the bound the call is made again as after any other failure.
 */
import { type RuntimeError, TimeoutError } from '../../../core/errors.ts'
import { toFailure } from '../../../core/worker/run/failure.ts'
import type { AgentTurn } from '../agent-turn.ts'
import { noFailure } from './answer.ts'
import { nudgeEntry } from './nudge.ts'

const tookTooLong = '(The reply timed out: the message took too long to generate.)'
const smallerSteps = '(You took too long to reply. Split the work into smaller steps, and do the first of them now.)'
const noUsage = { inputTokens: 0, outputTokens: 0 }

/** Returns false if the failure is another one, or if it was answered so often enough. */
export function answerTimeout(agentTurn: AgentTurn, error: RuntimeError): boolean {
  const { journal, kind, turn } = agentTurn
  const { container, machine, position } = journal
  const { policy } = turn.host
  const { recoveries = policy.recoveries, limits } = kind.definition
  const { run } = container
  if (!(error instanceof TimeoutError) || error.details.hasBegun !== true) return false
  // The sentence counts as an iteration, and a text that goes on must not be broken by it.
  const isLast = run.iterations + 1 >= (limits?.iterations ?? policy.iterations)
  if (isLast || run.cut.length > 0 || run.interruptions >= recoveries) return false
  const failure = toFailure(error, 'model', 1, Date.now())
  journal.log.warn('a reply took too long; its model is told to take smaller steps', {
    error: failure.message,
    interruptions: run.interruptions + 1,
    of: recoveries,
  })
  machine.apply('replyTimedOut')
  journal.countInterruption()
  const said = { model: kind.model.id, finishReason: 'other', usage: noUsage, interrupted: true } as const
  const content = [{ type: 'text', text: tookTooLong }] as const
  const entry = journal.entry('assistant', { id: journal.nextId(), ...said, content })
  journal.add([entry, nudgeEntry(journal, smallerSteps)], {
    ...noFailure(agentTurn),
    notes: [['turn.retried', { run: position.run, attempt: 1, retryMs: 0, failure }]],
  })
  return true
}
