/**
 * Duty: what is the same at the ends of all runs: the position of a run that has not begun, and what the last step of a run records of its worker and
 * of the result for the parent.
 */
import type { EventNote } from '../event/event.ts'
import type { Assignment, CommitRequest, RunPosition } from '../ports/ports.ts'
import { jsonWithoutKnownSecrets } from '../secret/known-secrets.ts'
import { encodeResult, type Outcome } from './message/message.ts'

/** A new worker has this position, and every worker between two runs. `run`: the number of the next run. */
export function beforeRun(run: number): RunPosition {
  return {
    run,
    calls: 0,
    runState: 'Idle',
    open: false,
    attempt: 0,
    retrying: '',
    pendingCalls: [],
    signalsOpen: 0,
    steps: 0,
  }
}

export function afterRun(run: number): RunPosition {
  return beforeRun(run + 1)
}

/** A client that waits for a larger value reads it from the history. */
const noteBytesMax = 256

/**
 * The event of a job's end holds its value, if that is small: a client that waits for the session need not ask for it. A value with a secret in it is
 * left out: events are written without secrets, and the client would get another value than the history has.
 */
export function completedNote({ isJob }: Assignment, run: number, valueJson: string): EventNote {
  const isShort = isJob && Buffer.byteLength(valueJson) <= noteBytesMax
  if (!isShort || jsonWithoutKnownSecrets(valueJson) !== valueJson) return ['run.completed']
  const value: unknown = JSON.parse(valueJson)
  return ['run.completed', run === 1 ? { value } : { run, value }]
}

/** The first run of a child answers its parent's call. Later runs answer nobody. */
export function endingOf(
  assignment: Assignment,
  run: number,
  outcome: Outcome,
): Pick<CommitRequest, 'outcome' | 'result'> {
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
