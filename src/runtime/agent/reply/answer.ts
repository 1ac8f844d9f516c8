/**
 * Duty: end a run with the text of a reply as its result.
 * Does not own: ends without an answer (agent-end.ts).
 */
import type { ModelReply } from '../../../core/definition/model.ts'
import { toRuntimeError } from '../../../core/errors.ts'
import { textOf } from '../../../core/history/chat/chat-message.ts'
import { type AgentResult, cutReasonOf, type Entry } from '../../../core/history/entry.ts'
import { toJson } from '../../../core/json.ts'
import { afterRun, completedNote, endingOf } from '../../../core/worker/run-ends.ts'
import type { AgentTurn } from '../agent-turn.ts'
import type { StepParts } from '../journal.ts'

/** `entry`: what is recorded of the reply that ended the run. */
export function answer(
  agentTurn: AgentTurn,
  reply: Pick<ModelReply, 'content' | 'finishReason'>,
  entry: Entry,
  parts: StepParts,
): void {
  const { journal, end, turn } = agentTurn
  const { container, machine, position } = journal
  const { cut, facts } = container.run
  const text = [...cut, textOf(reply.content)].join('')
  const finishReason = cutReasonOf(reply.finishReason)
  const value: AgentResult = {
    text,
    ...(Object.keys(facts).length > 0 && { facts }),
    ...(finishReason && { finishReason }),
  }
  let valueJson: string
  try {
    valueJson = toJson(value, `the result of ${agentTurn.who}`)
  } catch (thrown) {
    machine.apply('limitReached')
    end.fail(toRuntimeError(thrown), 'runtime', 1, { entries: [entry], parts })
    return
  }
  machine.apply('answered')
  end.countRun(position.run, 'completed')
  journal.add(
    [entry, journal.entry('completed', { value })],
    {
      ...parts,
      ...endingOf(turn.assignment, position.run, { status: 'completed', valueJson }),
      pendingCount: position.pendingCalls.length,
      position: afterRun(position.run),
      notes: [...(parts.notes ?? []), completedNote(turn.assignment, position.run, valueJson)],
    },
    { lazy: true },
  )
}

/** Clears the failure of earlier attempts from the record, because the model has replied. */
export function noFailure({ journal }: AgentTurn): StepParts {
  return { failure: journal.position.attempt > 0 ? null : undefined, position: { attempt: 0, retrying: '' } }
}
