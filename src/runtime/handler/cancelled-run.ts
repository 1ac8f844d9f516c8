/** Duty: the end of a handler's cancelled run, with its last step if the kind has one. */
import type { HandlerDefinition } from '../../core/definition/define-worker.ts'
import { CancelledError } from '../../core/errors.ts'
import { type CancelledEntry, entryJson } from '../../core/history/entry.ts'
import { childIds } from '../../core/ids.ts'
import type { Assignment, RunPosition } from '../../core/ports/ports.ts'
import { toFailure } from '../../core/worker/run/failure.ts'
import { afterRun, endingOf } from '../../core/worker/run-ends.ts'
import { emptyStep, type Step } from '../turn/step/step.ts'
import type { Turn } from '../turn/turn.ts'
import { lastStep } from './last-step.ts'

interface HandlerRun {
  readonly turn: Turn
  readonly definition: HandlerDefinition
  /** The last run of the worker that has begun. A run that has not begun has nothing to undo. */
  readonly begunRun: number
  /** A receive of the run that may still go on. */
  readonly working: Promise<unknown> | undefined
}

/** `position` and `stateJson`: what the record says. */
export function cancelRun(run: HandlerRun, position: RunPosition, stateJson: string | null): Step | Promise<Step> {
  const { turn, definition, begunRun } = run
  const { onCancel, onCancelMs } = definition
  const end = (said: Pick<CancelledEntry, 'onCancel'>) => cancelledStep(turn.assignment, position, said)
  if (onCancel === undefined || begunRun < position.run) return end({})
  return lastStep({ ...run, position, stateJson, isAgent: false, onCancel, onCancelMs }, (said) =>
    end({ onCancel: said }),
  )
}

/** The end of the run, with what its kind said of it. It leaves the state as it is. */
export function cancelledStep(
  assignment: Assignment,
  position: RunPosition,
  said: Pick<CancelledEntry, 'onCancel'>,
): Step {
  const { run, attempt, pendingCalls } = position
  const at = Date.now()
  const error = new CancelledError(`worker ${assignment.name} was cancelled`)
  return {
    ...emptyStep(afterRun(run)),
    entries: [entryJson('cancelled', run, assignment.epoch, at, { ...said })],
    ...endingOf(assignment, run, { status: 'cancelled', failure: toFailure(error, 'runtime', attempt + 1, at) }),
    openChildren: childIds(assignment.workerId, run, pendingCalls),
    notes: [['worker.cancelled', { run }]],
  }
}
