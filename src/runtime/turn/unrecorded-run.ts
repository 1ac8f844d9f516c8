/**
 * Duty: keep what the run of a turn does between two commits, whether the record shows it, and what it has used meanwhile.
 * UNRECORDED-1 Only commits, and renewals of the lease, write this to the record. No script is called for its sake.
 */
import { performance } from 'node:perf_hooks'
import { encodeRunState, type RunState } from '../../core/worker/run/run-state.ts'
import type { Used } from './step/step.ts'

export class UnrecordedRun {
  #run: RunState | undefined
  #firstByteSeen = false
  #since = 0
  #recorded: string
  #recordedAt: number
  #used: () => Used | undefined = () => undefined

  /** `recorded`: the state in the record when the turn began. */
  constructor(recorded: RunState, at: number) {
    this.#recorded = recorded
    this.#recordedAt = at
  }

  /** Without a state the run does nothing in particular, and the state of the last step holds. */
  report(run: RunState | undefined, firstByteSeen: boolean): void {
    this.#run = run
    this.#firstByteSeen = firstByteSeen
    if (run !== undefined) this.#since = performance.now()
  }

  get run(): RunState | undefined {
    return this.#run
  }

  get firstByteSeen(): boolean {
    return this.#run !== undefined && this.#firstByteSeen
  }

  /** The state in the form of the record; empty if there is nothing to write. */
  get encoded(): string {
    return this.#run === undefined ? '' : encodeRunState(this.#run, this.#firstByteSeen)
  }

  /** For how long the run has been in a state that the record does not show; 0 if the record is right. */
  ms(now: number): number {
    if (this.#run === undefined || this.encoded === this.#recorded) return 0
    return now - Math.max(this.#since, this.#recordedAt)
  }

  /** Says how to learn what the run has used since its last step. */
  countBy(used: () => Used | undefined): void {
    this.#used = used
  }

  /** For the commit that ends the turn. */
  takeUsed(): Used | undefined {
    return this.#used()
  }

  committed(runState: RunState): void {
    this.#recorded = runState
    this.#recordedAt = performance.now()
  }

  renewed(encoded: string): void {
    if (encoded !== '') this.#recorded = encoded
  }
}
