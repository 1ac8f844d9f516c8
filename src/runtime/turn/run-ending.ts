/** Duty: what every kind of worker records at the end of a run: where the worker stands then, and the result for its parent. */
import type { EventNote } from '../../core/event/event.ts'
import type { Assignment, RunPosition } from '../../core/ports/ports.ts'
import { encodeResult, type Outcome } from '../../core/worker/message.ts'
import { beforeRun } from '../../core/worker/run-position.ts'
import type { Step } from './step.ts'

export function afterRun(run: number): RunPosition {
  return beforeRun(run + 1)
}

/** A client that waits for a larger value reads it from the history. */
const noteBytesMax = 256

/** The event of a job's end holds its value, if that is small: a client that waits for the session need not ask for it. */
export function completedNote({ isJob }: Assignment, run: number, valueJson: string): EventNote {
  if (!isJob || Buffer.byteLength(valueJson) > noteBytesMax) return ['run.completed']
  const value: unknown = JSON.parse(valueJson)
  return ['run.completed', run === 1 ? { value } : { run, value }]
}

/** The first run of a child answers its parent's call. Later runs answer nobody. */
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
