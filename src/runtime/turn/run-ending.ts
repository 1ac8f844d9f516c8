/** Duty: what every kind of worker records at the end of a run: where the worker stands then, and the result for its parent. */
import type { EventNote } from '../../core/event/event.ts'
import type { Grant, RunPosition } from '../../core/ports/ports.ts'
import { encodeResult, type Outcome } from '../../core/worker/message.ts'
import type { Step } from './step.ts'

export function afterRun(run: number): RunPosition {
  return { run: run + 1, calls: 0, runState: 'Idle', open: false, attempt: 0, retrying: '', awaits: [], timersOpen: 0 }
}

/** A client that waits for a larger value reads it from the history. */
const noteBytesMax = 256

/** The event of a job's end holds its value, if that is small: a client that waits for the session need not ask for it. */
export function completedNote({ isJob }: Grant, run: number, valueJson: string): EventNote {
  if (!isJob || Buffer.byteLength(valueJson) > noteBytesMax) return ['run.completed']
  const value: unknown = JSON.parse(valueJson)
  return ['run.completed', run === 1 ? { value } : { run, value }]
}

/** The first run of a child answers its parent's call. Later runs answer nobody. */
export function endingOf(grant: Grant, run: number, outcome: Outcome): Pick<Step, 'outcome' | 'result'> {
  if (grant.call === null || run !== 1) return { outcome: outcome.status }
  return {
    outcome: outcome.status,
    result: encodeResult({ id: grant.workerId, name: grant.name, kind: grant.kind }, grant.call, outcome),
  }
}
