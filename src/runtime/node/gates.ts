/**
 * Duty: ask whether a run may begin, if its kind limits how many of its runs are in progress at once or begin within a time (core/definition/run-limits.ts).
 * GATED-1 A turn of such a kind begins one run at most, and asks for it before anything else: while it asks, it does nothing that would be lost if
 * the run must wait.
 * GATED-2 A run that failed and is retried asks once more, under the key that it had. A run that was in progress before its kind had gates goes on
 * without them.
 * GATED-3 An order (to compact, to run on what is there) has no input, and so no key: it is not limited. The input that follows an order is received
 * in a turn of its own.
 */

import type { WorkerDefinition } from '../../core/definition/define-worker.ts'
import { fitInput } from '../../core/definition/kind-types.ts'
import { gatesAgain, gatesFor, hasRunLimits } from '../../core/definition/run-limits.ts'
import { toRuntimeError } from '../../core/errors.ts'
import type { Assignment } from '../../core/ports/ports.ts'
import type { GateOrder } from '../../core/worker/gates.ts'
import type { Behaviour } from '../turn/behaviour.ts'
import type { Turn } from '../turn/turn.ts'

/** The behaviour of this kind, behind its gates. */
export function gated(behaviour: Behaviour, definition: WorkerDefinition): Behaviour {
  if (!hasRunLimits(definition)) return behaviour
  return async (turn) => {
    turn.gate.noteGates({ isAsked: turn.assignment.mail.inbox[0]?.order === undefined })
    await passGates(turn, definition)
    // A turn whose run must wait is over.
    if (turn.over === undefined) await behaviour(turn)
  }
}

async function passGates(turn: Turn, definition: WorkerDefinition): Promise<void> {
  const { assignment } = turn
  // A turn that drains, or is paused, begins nothing.
  if (assignment.purpose !== 'run' || assignment.gates?.state === 'in' || turn.isDraining) return
  let gates: readonly GateOrder[]
  try {
    gates = assignment.open ? againOf(assignment, definition) : newOf(assignment, definition)
  } catch (thrown) {
    return turn.gate.fail(toRuntimeError(thrown))
  }
  if (gates.length > 0) await turn.gate.enter(gates)
}

function againOf({ gates }: Assignment, definition: WorkerDefinition): GateOrder[] {
  return gates?.state === 'out' ? gatesAgain(definition, gates) : []
}

/** For an input that cannot be read, or does not fit, it asks for no gate: its run fails in any case. */
function newOf({ mail, kind }: Assignment, definition: WorkerDefinition): GateOrder[] {
  const [next] = mail.inbox
  if (next === undefined || next.order !== undefined || next.malformed !== undefined || next.message.kind !== 'input')
    return []
  const fit = fitInput(definition, kind, next.message.value)
  return fit.ok ? gatesFor(definition, kind, fit.value) : []
}
