/**
 * Duty: keep a worker that began as a handler from an agent, and one that began as an agent from a handler, when a release has made its kind the other.
 * KIND-SORT-1 Nothing of such a worker is run, changed or dropped: neither would understand what the other has recorded. It waits for a node that hosts
 * its kind as before, and asks again now and then. A cancel still ends it, without a last step of its kind.
 */
import { ConflictError } from '../../core/errors.ts'
import { isTally } from '../../core/history/run/agent-tally.ts'
import type { Assignment } from '../../core/ports/ports.ts'
import { toFailure } from '../../core/worker/run/failure.ts'
import { forRetry } from '../../core/worker/wait.ts'
import { cancelledStep } from '../handler/cancelled-run.ts'
import type { Behaviour } from '../turn/behaviour.ts'
import { emptyStep } from '../turn/step/step.ts'
import type { Turn } from '../turn/turn.ts'

export function forItsSort(behaviour: Behaviour, isAgent: boolean): Behaviour {
  return (turn) => (beganOtherwise(turn.assignment, isAgent) ? waitForItsSort(turn, isAgent) : behaviour(turn))
}

/** An agent records its tally with its first step. What a handler records is JSON, or nothing. */
function beganOtherwise({ stateJson, open }: Assignment, isAgent: boolean): boolean {
  if (stateJson === null) return isAgent && open
  return isTally(stateJson) !== isAgent
}

function waitForItsSort(turn: Turn, isAgent: boolean): Promise<void> {
  const { assignment, position, host } = turn
  const { workerId, kind, purpose } = assignment
  turn.whenCancelled((recorded) => cancelledStep(assignment, recorded, {}))
  if (purpose === 'cancelled') return turn.cancel()
  const retryMs = host.policy.retryBackoffMsMax
  const [before, now] = isAgent ? ['a handler', 'an agent'] : ['an agent', 'a handler']
  const what = `worker ${workerId} began as ${before}, and its kind ${kind} is ${now} now: it waits for a node that hosts ${kind} as ${before}. Give the new one another name, or cancel the session.`
  const failure = toFailure(new ConflictError('transition_illegal', what), 'runtime', 1, Date.now())
  host.workerLog(assignment, position.run).warn(what)
  turn.add({
    ...emptyStep(position),
    notes: [['turn.retried', { run: position.run, attempt: 1, retryMs, failure }]],
  })
  return turn.end(forRetry, retryMs)
}
