/** Duty: the position of a run that has not begun. A new worker has it, and every worker between two runs. */
import type { RunPosition } from '../ports/ports.ts'

/** `run`: the number of the next run. */
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
  }
}
