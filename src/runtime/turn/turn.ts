/**
 * Duty: one turn: what a node does with one worker that it claimed, from the first step to the commit that ends the turn.
 * Owns: what each commit holds, and what follows from its answer. Does not own: what a step is (the behaviour), which steps wait
 * (step-queue.ts), that one commit leaves at a time (commit-order.ts), what the slot does next (its plan), how long the lease is trusted (lease.ts).
 * TURN-1 A turn has one commit without an answer at a time. Steps that are added in the meantime leave with the next one.
 * TURN-2 A turn is over once, for one reason. After that it commits nothing.
 * TURN-3 The ending commit holds the last steps: a turn of one step costs one script.
 * TURN-4 Redis may refuse a step (a limit, an unknown recipient). Steps before it stand. The step says what follows: its run fails, or the
 *    step is dropped and the behaviour goes on without it.
 * TURN-5 If the last start of the worker recorded nothing, no step is lazy, and the behaviour begins the next thing only when the one
 *    before is recorded. Otherwise an earlier message would be blamed for what takes the process down.
 */

import { performance } from 'node:perf_hooks'
import { CancelledError, InvariantError, LeaseLostError, toRuntimeError } from '../../core/errors.ts'
import type { Assignment, CommitAnswer, CommitRequest, RunPosition } from '../../core/ports/ports.ts'
import { type Refusal, refusalError } from '../../core/worker/refusal.ts'
import type { RunState } from '../../core/worker/run/run-state.ts'
import { forAny, goOn, type TurnWait } from '../../core/worker/wait.ts'
import { CommitOrder } from './commit-order.ts'
import { LazySignal } from './lazy-signal.ts'
import { Lease } from './lease.ts'
import { noteRecorded } from './recorded.ts'
import { mergeSteps, requestOf } from './step/commit-request.ts'
import { emptyStep, type Step } from './step/step.ts'
import { StepQueue } from './step/step-queue.ts'
import { withTakeOver } from './step/take-over.ts'
import { TurnGate } from './turn-gate.ts'
import type { TurnHost } from './turn-host.ts'
import { runOf, stateOf, TurnLive } from './turn-live.ts'
import { TurnPause } from './turn-pause.ts'
import { TurnSession } from './turn-session.ts'
import { mayBecome, type TurnEnd, type TurnOutcome, type TurnOver, type TurnState } from './turn-state.ts'
import { TurnSteers } from './turn-steers.ts'
import { UnrecordedRun } from './unrecorded-run.ts'

/** Makes the step that ends a cancelled run, from what is recorded. The behaviour knows its entries, and may take a last step before. */
export type CancelledStep = (position: RunPosition, stateJson: string | null) => Step | Promise<Step>

/** The run failed or was cancelled: the worker waits for its next input. */
const runIsOver: TurnEnd = { wait: forAny }

export class Turn {
  readonly assignment: Assignment
  readonly host: TurnHost
  readonly lease: Lease
  readonly startedAt = performance.now()
  readonly unrecorded: UnrecordedRun
  readonly pausing = new TurnPause(this)
  readonly gate = new TurnGate(this)
  readonly session: TurnSession
  readonly steers: TurnSteers
  #state: TurnState = { kind: 'running' }
  readonly #steps: StepQueue
  readonly #order = new CommitOrder(this, () => this.#commitDue())
  readonly #abort = new LazySignal()
  readonly #outcome: { -readonly [Name in keyof TurnOutcome]: TurnOutcome[Name] }
  readonly #finished = Promise.withResolvers<TurnOver>()
  #cancelledStep: CancelledStep | undefined
  /** True if the cancelled step waits for code of the run. That code may itself wait until its steps are settled. */
  #cancelWaits = false
  #live: TurnLive | undefined
  #tellsTakeOver: boolean
  #sequence = 0
  #version: number
  #committingMs = 0
  #endAnswer: CommitAnswer | undefined

  constructor(assignment: Assignment, host: TurnHost) {
    this.assignment = assignment
    this.host = host
    this.lease = new Lease(assignment.trustedUntil)
    this.session = new TurnSession(assignment)
    this.#version = assignment.version
    this.#tellsTakeOver = this.isRetaken || assignment.lastWords !== null
    this.unrecorded = new UnrecordedRun(assignment.runState, this.startedAt)
    this.#outcome = { over: undefined, aborted: false, commitId: '', version: assignment.version }
    this.#steps = new StepQueue(assignment, host.policy.lazyCommitMs, () => this.#order.sendDue())
    this.steers = new TurnSteers(this, this.#steps)
    if (host.live.isFollowed(assignment.sessionId)) this.live.begin()
  }

  // What others may ask of the turn.

  /** True while the turn takes steps. */
  get isOpen(): boolean {
    return this.#state.kind === 'running' || this.#state.kind === 'draining'
  }

  get isDraining(): boolean {
    return this.#state.kind === 'draining'
  }

  get over(): TurnOver | undefined {
    return this.#outcome.over
  }

  get outcome(): TurnOutcome {
    return this.#outcome
  }

  /** Resolves when the turn is over, whatever the behaviour still does. */
  get finished(): Promise<TurnOver> {
    return this.#finished.promise
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** True once the signal has fired. */
  get aborted(): boolean {
    return this.#abort.aborted
  }

  /** Works like a listener of the signal, at a small part of its cost. */
  whenAborted(listener: (reason: Error) => void): () => void {
    return this.#abort.whenAborted(listener)
  }

  /** True if the last start of this worker recorded nothing (TURN-5). */
  get isRetaken(): boolean {
    return this.assignment.starts > 1
  }

  /** Where the run stands after the last step that was added. */
  get position(): RunPosition {
    return this.#steps.latest
  }

  /** How long the turn has lasted so far, without the time that it waited for commits. */
  get busyMs(): number {
    return performance.now() - this.startedAt - this.#committingMs
  }

  /** What Redis answered to the last attempt to end the turn, and so to the plan of its slot; undefined while there is no answer. */
  get endAnswer(): CommitAnswer | undefined {
    return this.#endAnswer
  }

  // What the behaviour does.

  /** Tells followers of the session what this turn does. It is made when it is needed, because most turns end before. */
  get live(): TurnLive {
    this.#live ??= new TurnLive(this.assignment, this.host.live)
    return this.#live
  }

  /** Says how a cancelled run ends; to be called before the first step. If it is cancelled already, the turn ends now. `waits`: this step waits for code of the run. */
  whenCancelled(step: CancelledStep, { waits = false }: { waits?: boolean } = {}): void {
    this.#cancelledStep = step
    this.#cancelWaits = waits
    if (this.#state.kind === 'cancelling') void this.#order.sendLast(() => this.#commitCancelled())
  }

  /** Has a commit record this step: it is recorded once the turn is `settled`. `lazy`: losing it costs only work that is done again (STEP-2). */
  add(step: Step, { lazy = false }: { lazy?: boolean } = {}): void {
    if (!this.isOpen) return
    if (step.outcome !== undefined) this.steers.endRun()
    this.#steps.add(step, lazy && !this.isRetaken)
    this.#tellState()
  }

  /** Sends lazy steps now. */
  flush(): void {
    this.#steps.flush()
  }

  /** How many steps the store has accepted, or refused so that they were dropped. */
  get acknowledged(): number {
    return this.#steps.acknowledged
  }

  get isSettled(): boolean {
    return this.over !== undefined || (this.#cancelWaits && this.aborted) || this.#steps.isSettled
  }

  /** Resolves when every step that is not lazy is acknowledged, or when the turn is over or ends as cancelled. */
  async settled(): Promise<void> {
    while (!this.isSettled) {
      const { inFlight } = this.#order
      await (this.#cancelWaits ? Promise.race([inFlight, this.#abort.fired]) : inFlight)
    }
  }

  /** Says what the run does between two commits; without arguments: nothing in particular. */
  report(run?: RunState, firstByteSeen = false): void {
    this.unrecorded.report(run, firstByteSeen)
    if (run !== undefined) this.#tellState()
  }

  /** Ends the turn: the last steps, what the worker waits for, and the slot's plan go into one commit. */
  async end(wait: TurnWait, retryMs?: number): Promise<void> {
    if (!this.isOpen) return
    this.#enter({ kind: 'ending', end: { wait, ...(retryMs === undefined ? {} : { retryMs }) } })
    await this.#order.sendLast(() => this.#commitLastSteps())
  }

  // What the node does to the turn.

  /** Tells the turn that its node drains. */
  drain(): void {
    if (this.#state.kind === 'running') this.#enter({ kind: 'draining' })
  }

  /** Ends the turn because its run was cancelled: the signal fires, and the cancelling end is committed at once, whatever the behaviour does. */
  async cancel(): Promise<void> {
    if (this.over || this.aborted) return
    this.#enterCancelling()
    await this.#order.sendLast(() => this.#commitCancelled())
  }

  /** Ends the turn early: steps that were added are recorded, and another turn receives the message in hand again. */
  async release(why = `this node stops; worker ${this.assignment.workerId} goes on elsewhere.`): Promise<void> {
    if (!this.isOpen) return
    this.#enter({ kind: 'ending', end: { wait: goOn } })
    this.#abort.abort(new LeaseLostError(why))
    await this.#order.sendLast(() => this.#commitLastSteps())
  }

  /** Ends the turn without a further commit: the lease is gone or no longer trusted, or the run waits at a gate. */
  abandon(why: Exclude<TurnOver, 'ended'>): void {
    if (this.over) return
    this.#abort.abort(new LeaseLostError(`this node no longer holds worker ${this.assignment.workerId} (${why}).`))
    this.#finish(why)
  }

  /** Abandons the turn after an error that nobody foresaw, in its behaviour or here. */
  giveUp(error: unknown): void {
    this.host.log.error('a turn met an unexpected error; the worker goes on elsewhere when its lease has ended', {
      worker: this.assignment.workerId,
      error: String((error as Error)?.stack ?? error),
    })
    this.abandon('unreachable')
  }

  // How the state of the turn changes.

  #enter(state: TurnState): void {
    const { kind } = this.#state
    if (!mayBecome(this.#state, state))
      throw new InvariantError(
        `the turn of worker ${this.assignment.workerId} is ${kind} and cannot become ${state.kind}.`,
      )
    this.#state = state
  }

  #enterCancelling(): void {
    if (this.#state.kind !== 'cancelling') this.#enter({ kind: 'cancelling' })
    this.#abort.abort(new CancelledError(`the run of worker ${this.assignment.workerId} was cancelled.`))
  }

  #finish(over: TurnOver): void {
    if (this.over) return
    this.#outcome.aborted = this.aborted
    this.#outcome.commitId = `${this.assignment.token}:${this.#sequence}`
    this.#outcome.version = this.#version
    this.#outcome.over = over
    this.#enter({ kind: 'over', outcome: this.#outcome })
    this.#steps.stopTimer()
    if (over === 'ended') this.#tellState({ isOver: true })
    this.#finished.resolve(over)
  }

  #tellState({ isOver = false } = {}): void {
    if (this.#live === undefined && !this.host.live.isFollowed(this.assignment.sessionId)) return
    this.live.changeState(
      stateOf(this.position, this.unrecorded, isOver),
      runOf(this.position, this.unrecorded, isOver),
    )
  }

  // What the turn commits.

  #commitDue(): Promise<void> | undefined {
    return this.isOpen && this.#steps.isDue ? this.#commit(this.#steps.take()) : undefined
  }

  async #commitLastSteps(): Promise<void> {
    while (this.#state.kind === 'ending') {
      const { end } = this.#state
      const batch = this.#steps.take()
      const last = batch.length === 0 ? { ...end, isUncounted: true } : end
      if (this.#steps.isEmpty) return this.#commit(this.#steps.withUsed(batch, this.unrecorded.takeUsed()), last)
      await this.#commit(batch)
    }
  }

  /** A cancel may come before the behaviour has said how such a run ends; then `whenCancelled` calls this again. */
  async #commitCancelled(): Promise<void> {
    const { recorded, stateJson } = this.#steps
    if (this.#cancelledStep) await this.#commit([await this.#cancelledStep(recorded, stateJson)], runIsOver)
  }

  // How one commit is sent, and what follows from its answer.

  /** `end`: the turn ends with it. */
  async #commit(steps: readonly Step[], end?: TurnEnd): Promise<void> {
    if (this.over) return
    const merged = mergeSteps(steps)
    const step = this.#tellsTakeOver ? withTakeOver(merged, this.assignment, this.host.nodeId) : merged
    const asked = performance.now()
    let answer: CommitAnswer
    try {
      answer = await this.host.store.commit(this.#request(step, end))
    } catch (thrown) {
      this.host.log.error('a commit failed; the worker goes on elsewhere when its lease has ended', {
        worker: this.assignment.workerId,
        error: toRuntimeError(thrown).message,
      })
      this.abandon('unreachable')
      return
    }
    this.#committingMs += performance.now() - asked
    if (end) this.#endAnswer = answer
    await this.#accept(answer, steps, step, end)
  }

  #request(step: Step, end: TurnEnd | undefined): CommitRequest {
    const { assignment, host } = this
    this.#sequence++
    if (end) this.#endAnswer = undefined
    const plan = end && host.plan(this, step)
    return requestOf(assignment, step, {
      sequence: this.#sequence,
      version: this.#version,
      wakeup: host.wakeup,
      steersUnseenFrom: this.steers.unseenFrom,
      ending: end && plan && { end, plan, turnMs: Math.round(performance.now() - this.startedAt) },
    })
  }

  async #accept(answer: CommitAnswer, steps: readonly Step[], step: Step, end: TurnEnd | undefined): Promise<void> {
    if (this.over && answer.kind !== 'ok') return
    switch (answer.kind) {
      case 'ok':
        this.#version = answer.version
        this.#steps.acknowledge(steps.length, step)
        if (step.entries.length > 0) this.#tellsTakeOver = false
        this.unrecorded.committed(step.position.runState)
        noteRecorded(this, answer, step, end?.retryMs)
        if (end) this.#finish('ended')
        return
      case 'fenced':
        return this.abandon('fenced')
      case 'conflict':
        return this.abandon('stale')
      case 'cancelled':
        this.#enterCancelling()
        return this.#commitCancelled()
      case 'refused':
        return this.#refused(answer.refusals, steps, end)
    }
  }

  // What follows if Redis refuses a step (TURN-4).

  async #refused(refusals: readonly Refusal[], steps: readonly Step[], end: TurnEnd | undefined): Promise<void> {
    const [step] = steps as readonly [Step]
    if (steps.length > 1) return this.#commitOneByOne(steps, end)
    const error = refusalError(refusals[0] as Refusal, `worker ${this.assignment.name} (${this.assignment.workerId})`)
    if (step.onDropped) {
      this.#steps.drop()
      step.onDropped(error)
      if (end) await this.#commit([emptyStep(this.#steps.recorded)], end)
      return
    }
    const failed = step.ifRefused?.(error)
    if (failed === undefined) return this.abandon('stale')
    if (this.#state.kind !== 'cancelling') this.#enter({ kind: 'ending', end: runIsOver })
    await this.#commit([failed], runIsOver)
  }

  /** Redis refuses the steps of a commit as a whole. Sent one by one, each step is refused or stands by itself; the first that fails the run is the last. */
  async #commitOneByOne(steps: readonly Step[], end: TurnEnd | undefined): Promise<void> {
    for (const step of steps) await this.#commit([step], step === steps.at(-1) ? end : undefined)
  }
}
