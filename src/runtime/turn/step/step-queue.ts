/**
 * Duty: keep the steps of one turn that wait to be committed.
 * Owns: which steps go into one commit, how long a step may wait, and where the run stands, by the record and by all steps.
 * Does not own: how steps become one request (commit-request.ts), when a commit is sent, and what follows from its answer (turn.ts).
 * STEP-1 Steps leave in the order in which they came. A step that ends a run is the last of its commit (`batchLength`).
 * STEP-2 A lazy step only saves work after a crash. So it waits for the next step that is not lazy, and leaves with it. After `lazyCommitMs` it
 *    leaves by itself.
 * STEP-3 Steps are settled when Redis has answered for every step that may not wait.
 */
import type { Assignment, RunPosition } from '../../../core/ports/ports.ts'
import { emptyStep, type Step, type Used } from './step.ts'
import { bytesIn, fitsCommit, sizeOf } from './step-size.ts'

export class StepQueue {
  readonly #lazyMs: number
  readonly #onDue: () => void
  #waiting: Step[] = []
  #recorded: RunPosition
  #stateJson: string | null
  #latest: RunPosition
  /** Numbers of steps, counted from 1: of the newest one, of the last one that Redis answered for, and of the last one that may not wait. */
  #added = 0
  #acknowledged = 0
  #mustCommitTo = 0
  #lazyTimer: NodeJS.Timeout | undefined

  /** `onDue` is called when steps should be committed. */
  constructor(assignment: RunPosition & Pick<Assignment, 'stateJson'>, lazyMs: number, onDue: () => void) {
    const { run, calls, runState, open, attempt, retrying, pendingCalls, signalsOpen, steps, stateJson } = assignment
    const position = { run, calls, runState, open, attempt, retrying, pendingCalls, signalsOpen, steps }
    this.#recorded = position
    this.#stateJson = stateJson
    this.#latest = position
    this.#lazyMs = lazyMs
    this.#onDue = onDue
  }

  /** Where the run stands after all steps that were added. */
  get latest(): RunPosition {
    return this.#latest
  }

  /** Where the run stands by the record. */
  get recorded(): RunPosition {
    return this.#recorded
  }

  /** The state of the handler, or the tally of the agent, by the record. */
  get stateJson(): string | null {
    return this.#stateJson
  }

  /** How many steps Redis has accepted, or refused so that they were dropped. */
  get acknowledged(): number {
    return this.#acknowledged
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** True if a step waits that must not wait. */
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

  /** From now on, lazy steps must not wait either. */
  flush(): void {
    this.#mustCommitTo = this.#added
    this.#onDue()
  }

  #flushLater(): void {
    this.#lazyTimer ??= setTimeout(() => this.flush(), this.#lazyMs)
  }

  /** Takes out the steps of the next commit. */
  take(): Step[] {
    this.stopTimer()
    const batch = this.#waiting.splice(0, batchLength(this.#waiting))
    if (this.#waiting.length > 0) this.#flushLater()
    return batch
  }

  /** The steps of the commit that ends the turn. `used`: since the last of them. */
  withUsed(steps: readonly Step[], used: Used | undefined): readonly Step[] {
    const all = steps.length > 0 ? steps : [emptyStep(this.#recorded)]
    if (used === undefined) return all
    const last = all.at(-1) as Step
    return [...all.slice(0, -1), { ...last, ...used, costs: [...(last.costs ?? []), ...(used.costs ?? [])] }]
  }

  /** Notes that Redis has recorded this number of steps, and where the run stands after them. */
  acknowledge(steps: number, { position, stateJson }: Step): void {
    this.#acknowledged += steps
    this.#recorded = position
    this.#stateJson = stateJson ?? this.#stateJson
  }

  /** Notes that a step was refused, and that its behaviour goes on as if it had not been added. */
  drop(): void {
    this.#acknowledged++
    this.#latest = this.#recorded
  }

  /** The timer would keep the turn in memory beyond its end, and to collect garbage that has grown old is expensive. */
  stopTimer(): void {
    clearTimeout(this.#lazyTimer)
    this.#lazyTimer = undefined
  }
}

const batchSteps = 50

/** STEP-1: how many of these steps may go into one commit: up to the first that ends a run, within the limits. At least one step goes. */
export function batchLength(steps: readonly Step[]): number {
  let all = { count: 0, weight: 0, bytes: 0 }
  for (const [index, step] of steps.entries()) {
    const { count, weight, bytes } = sizeOf(step, bytesIn(step))
    all = { count: all.count + count, weight: all.weight + weight, bytes: all.bytes + bytes }
    if (index > 0 && !fitsCommit(all)) return index
    if (step.outcome !== undefined || index + 1 === batchSteps) return index + 1
  }
  return steps.length
}
