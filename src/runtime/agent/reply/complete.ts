/** Duty: end a run with a result. Does not own: which result (answer.ts, terminal.ts), ends without one (../agent-end.ts). */
import { toRuntimeError } from '../../../core/errors.ts'
import type { AgentResult } from '../../../core/history/agent-result.ts'
import type { Entry } from '../../../core/history/entry.ts'
import { childIds } from '../../../core/ids.ts'
import { toJson } from '../../../core/json.ts'
import { afterRun, completedNote, endingOf } from '../../../core/worker/run-ends.ts'
import type { AgentTurn } from '../agent-turn.ts'
import type { StepParts } from '../journal.ts'

/** `entries`: what is recorded before the result. A result that is no JSON, or too large, fails the run. */
export function complete(
  agentTurn: AgentTurn,
  result: AgentResult,
  entries: readonly Entry[],
  parts: StepParts = {},
): void {
  const { journal, end, turn } = agentTurn
  const { container, machine, position } = journal
  const { facts } = container.run
  const value: AgentResult = { ...result, ...(Object.keys(facts).length > 0 && { facts }) }
  const hasActed = machine.state === 'ExecutingTools'
  let valueJson: string
  try {
    valueJson = toJson(value, `the result of ${agentTurn.who}`)
  } catch (thrown) {
    machine.apply(hasActed ? 'toolRefused' : 'limitReached')
    end.fail(toRuntimeError(thrown), 'runtime', 1, { entries, parts })
    return
  }
  if (hasActed) machine.apply('toolsFinished')
  machine.apply('answered')
  end.countRun(position.run, 'completed')
  journal.add(
    [...entries, journal.entry('completed', { value })],
    {
      ...parts,
      ...endingOf(turn.assignment, position.run, { status: 'completed', valueJson }),
      openChildren: childIds(turn.assignment.workerId, position.run, position.pendingCalls),
      position: afterRun(position.run),
      notes: [...(parts.notes ?? []), completedNote(turn.assignment, position.run, valueJson)],
    },
    { lazy: true },
  )
}
