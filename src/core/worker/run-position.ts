/** Duty: where the run of a worker stands before it has begun: a new worker, and every worker between two runs. */
import type { RunPosition } from '../ports/ports.ts'

/** `run`: the number of the run that is next. */
export function beforeRun(run: number): RunPosition {
  return {
    run,
    calls: 0,
    runState: 'Idle',
    open: false,
    attempt: 0,
    retrying: '',
    pendingCalls: [],
    timersOpen: 0,
  }
}
