/** Duty: what the end of a run is for every sort of worker: where it leaves the worker, and the mail to the parent that waits. */
import type { EventNote } from '../../core/event/event.ts'
import type { Assignment, RunPosition } from '../../core/ports/ports.ts'
import { encodeResult, type Outcome } from '../../core/worker/message.ts'
import type { Step } from './step.ts'

export function afterRun(run: number): RunPosition {
  return {
    run: run + 1,
    calls: 0,
    runState: 'Idle',
    open: false,
    attempt: 0,
    retrying: '',
    pendingCalls: [],
    timersOpen: 0,
  }
}

/** Larger values are read from the history by who waits for them. */
const toldBytesMax = 256

/** The end of a job's run tells who waits for the session how it ended, so that they need not ask. */
export function completedNote({ isJob }: Assignment, run: number, valueJson: string): EventNote {
  if (!isJob || Buffer.byteLength(valueJson) > toldBytesMax) return ['run.completed']
  const value: unknown = JSON.parse(valueJson)
  return ['run.completed', run === 1 ? { value } : { run, value }]
}

/** A child's first run answers its parent's call; later ones answer nobody. */
export function endingOf(assignment: Assignment, run: number, outcome: Outcome): Pick<Step, 'outcome' | 'result'> {
  if (assignment.call === null || run !== 1) return { outcome: outcome.status }
  return {
    outcome: outcome.status,
    result: encodeResult(
      { id: assignment.workerId, name: assignment.name, kind: assignment.kind },
      assignment.call,
      outcome,
    ),
  }
}
