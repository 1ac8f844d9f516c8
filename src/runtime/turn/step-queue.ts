/**
 * Duty: the steps of one turn that wait to be committed.
 * Owns: which steps go into one commit, how long a step may wait, and where the run stands by the record and by all steps.
 * Does not own: when a commit is sent, and what follows from its answer (turn.ts).
 * STEP-1 Steps leave in the order in which they came. A step that ends a run is the last of its commit (batchLength in step.ts).
 * STEP-2 A lazy step only saves work after a crash. It costs no script of its own: it leaves with the next step that is not lazy, or
 *    after `lazyCommitMs`.
 * STEP-3 Steps are settled when Redis has answered for every step that may not wait.
 */
import type { RunPosition } from '../../core/ports/ports.ts'
import { batchLength, type Step } from './step.ts'

export class StepQueue {
  readonly #lazyMs: number
  readonly #onDue: () => void
  #waiting: Step[] = []
  #recorded: RunPosition
  #latest: RunPosition
  /** Numbers of steps, counted from 1: of the newest one, of the last one that Redis answered for, and of the last one that may not wait. */
  #added = 0
  #acknowledged = 0
  #mustCommitTo = 0
  #lazyTimer: NodeJS.Timeout | undefined

  /** `onDue` is called when steps should be committed. */
  constructor(position: RunPosition, lazyMs: number, onDue: () => void) {
    this.#recorded = position
    this.#latest = position
    this.#lazyMs = lazyMs
    this.#onDue = onDue
  }

  /** Where the run stands after all steps. */
  get latest(): RunPosition {
    return this.#latest
  }

  /** Where the run stands by the record. */
  get recorded(): RunPosition {
    return this.#recorded
  }

  /** How many steps Redis has accepted, or refused so that they were dropped. */
  get acknowledged(): number {
    return this.#acknowledged
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** A step waits that may not wait. */
  get isDue(): boolean {
    return this.#mustCommitTo > this.#added - this.#waiting.length
  }

  get isSettled(): boolean {
    return this.#acknowledged >= this.#mustCommitTo
  }

  add(step: Step, isLazy: boolean): void {
    this.#waiting.push(step)
    this.#latest = step.position
    this.#added++
    if (isLazy) this.#flushLater()
    else this.flush()
  }

  /** Lazy steps may not wait any longer. */
  flush(): void {
    this.#mustCommitTo = this.#added
    this.#onDue()
  }

  #flushLater(): void {
    this.#lazyTimer ??= setTimeout(() => this.flush(), this.#lazyMs)
  }

  /** Takes out the steps of the next commit. */
  take(): Step[] {
    this.close()
    const batch = this.#waiting.splice(0, batchLength(this.#waiting))
    if (this.#waiting.length > 0) this.#flushLater()
    return batch
  }

  /** Redis has recorded so many steps; the last of them left the run there. */
  acknowledge(steps: number, recorded: RunPosition): void {
    this.#acknowledged += steps
    this.#recorded = recorded
  }

  /** A step was refused, and its behaviour goes on as if it had not been added. */
  drop(): void {
    this.#acknowledged++
    this.#latest = this.#recorded
  }

  /** Stops the timer: it would keep the turn in memory beyond its end, and garbage that grows old is dear. */
  close(): void {
    clearTimeout(this.#lazyTimer)
    this.#lazyTimer = undefined
  }
}
