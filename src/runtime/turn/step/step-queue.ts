/**
 * Duty: the steps of one turn that wait to be committed, and the request of the commit that some of them become.
 * Owns: which steps go into one commit, how long a step may wait, and where the run stands, by the record and by all steps.
 * Does not own: when a commit is sent, and what follows from its answer (turn.ts).
 * STEP-1 Steps leave in the order in which they came. A step that ends a run is the last of its commit (`batchLength`).
 * STEP-2 A lazy step only saves work after a crash. So it waits for the next step that is not lazy, and leaves with it. After `lazyCommitMs` it
 *    leaves by itself.
 * STEP-3 Steps are settled when Redis has answered for every step that may not wait.
 */
import { encodeEvents } from '../../../core/event/event-notes.ts'
import type { Assignment, CommitRequest, RunPosition, SlotNext } from '../../../core/ports/ports.ts'
import { encodeWait } from '../../../core/worker/wait.ts'
import type { SlotPlan } from '../turn-host.ts'
import type { TurnEnd } from '../turn-state.ts'
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
    this.close()
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

  /** Stops the timer: it would keep the turn in memory beyond its end, and to collect garbage that has grown old is expensive. */
  close(): void {
    clearTimeout(this.#lazyTimer)
    this.#lazyTimer = undefined
  }
}

// Which steps go into one commit, and how they are merged.

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

/** Makes one step of all steps of a commit. */
export function mergeSteps(steps: readonly Step[]): Step {
  return steps.reduce((before, step) => ({
    ...step,
    entries: joined(before.entries, step.entries),
    signalsConsumed: before.signalsConsumed + step.signalsConsumed,
    inputsConsumed: before.inputsConsumed + step.inputsConsumed,
    resultsConsumed: joined(before.resultsConsumed, step.resultsConsumed),
    steersTaken: before.steersTaken ? joined(before.steersTaken, step.steersTaken ?? []) : step.steersTaken,
    stateJson: step.stateJson ?? before.stateJson,
    configured: step.configured ?? before.configured,
    costs: before.costs ? joined(before.costs, step.costs ?? []) : step.costs,
    failure: step.failure === undefined ? before.failure : step.failure,
    spawns: joined(before.spawns, step.spawns),
    childrenAtOnce: step.childrenAtOnce ?? before.childrenAtOnce,
    sends: joined(before.sends, step.sends),
    timers: joined(before.timers, step.timers),
    asks: joined(before.asks, step.asks),
    withdraws: joined(before.withdraws, step.withdraws),
    cancels: before.cancels ? joined(before.cancels, step.cancels ?? []) : step.cancels,
    notes: joined(before.notes, step.notes),
  }))
}

/** Most lists are empty. */
function joined<Item>(before: readonly Item[], after: readonly Item[]): readonly Item[] {
  if (after.length === 0) return before
  return before.length === 0 ? after : [...before, ...after]
}

// The commit as the store takes it.

/** What a commit says in addition to its step. */
interface CommitHead {
  readonly sequence: number
  readonly version: number
  readonly wakeup: string
  /** The turn has seen the inputs that steer its run up to this position, itself excluded. */
  readonly steersSeen?: number | undefined
  /** Set if the turn ends with this commit: how it ends, and what the slot does then. */
  readonly ending?: { readonly end: TurnEnd; readonly plan: SlotPlan; readonly turnMs: number } | undefined
}

/** Makes the request of one commit, in the form that the store takes. */
export function requestOf(
  { workerId, pool, token, resultsSeen, largeResults, suspect }: Assignment,
  { position, notes, openChildren, ...step }: Step,
  { sequence, version, wakeup, steersSeen, ending }: CommitHead,
): CommitRequest {
  const { runState, open, attempt, retrying, pendingCalls, signalsOpen, steps } = position
  const { entries, signalsConsumed, inputsConsumed, resultsConsumed, stateJson, failure, outcome, result, dead } = step
  const plan = ending?.plan
  return {
    workerId,
    pool,
    token,
    sequence,
    version,
    runState,
    open,
    attempt,
    retrying,
    pendingCalls,
    pendingCount: (openChildren ?? position.pendingCalls).length,
    openChildren,
    signalsOpen,
    steps,
    entries,
    signalsConsumed,
    inputsConsumed,
    resultsConsumed,
    largeTaken: largeResults && resultsConsumed.flatMap((position) => largeResults.get(position) ?? []),
    resultsSeen,
    steersTaken: step.steersTaken,
    steersSeen: ending && steersSeen,
    stateJson,
    configured: step.configured,
    costs: step.costs,
    failure,
    outcome,
    result,
    dead,
    spawns: step.spawns,
    childrenAtOnce: step.childrenAtOnce,
    sends: step.sends,
    timers: step.timers,
    asks: step.asks,
    withdraws: step.withdraws,
    cancels: step.cancels,
    event: notes.length > 0 ? encodeEvents(notes) : '',
    wakeup,
    offer: plan?.kind === 'stay' ? plan.children : undefined,
    end: ending && {
      ...ending.end,
      wait: encodeWait(ending.end.wait),
      isIsolated: suspect,
      next: nextOf(ending.plan),
      turnMs: ending.turnMs,
    },
    wasBusy: plan !== undefined && wasBusy(plan),
  }
}

function nextOf(plan: SlotPlan): SlotNext {
  if (plan.kind === 'claim') return plan.claim
  return plan.kind === 'stay' ? 'stay' : null
}

function wasBusy(plan: SlotPlan): boolean {
  if (plan.kind === 'claim') return plan.claim.wasBusy
  return plan.kind === 'leave' && plan.wasBusy
}
