/** Duty: what the end of a run is for every sort of worker: where it leaves the worker, and the mail to the parent that waits. */
import type { EventNote } from '../../core/event/event.ts'
import type { Grant, RunPosition } from '../../core/ports/ports.ts'
import { encodeResult, type Outcome } from '../../core/worker/message.ts'
import type { Step } from './step.ts'

export function afterRun(run: number): RunPosition {
  return { run: run + 1, calls: 0, runState: 'Idle', open: false, attempt: 0, retrying: '', awaits: [], timersOpen: 0 }
}

/** Larger values are read from the history by who waits for them. */
const toldBytesMax = 256

/** The end of a job's run tells who waits for the session how it ended, so that they need not ask. */
export function completedNote({ isJob }: Grant, run: number, valueJson: string): EventNote {
  if (!isJob || Buffer.byteLength(valueJson) > toldBytesMax) return ['run.completed']
  const value: unknown = JSON.parse(valueJson)
  return ['run.completed', run === 1 ? { value } : { run, value }]
}

/** A child's first run answers its parent's call; later ones answer nobody. */
export function endingOf(grant: Grant, run: number, outcome: Outcome): Pick<Step, 'outcome' | 'result'> {
  if (grant.call === null || run !== 1) return { outcome: outcome.status }
  return {
    outcome: outcome.status,
    result: encodeResult({ id: grant.workerId, name: grant.name, kind: grant.kind }, grant.call, outcome),
  }
}
