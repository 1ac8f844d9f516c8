/**
 * Duty: one turn: what a node does with a grant, from its first step to the ending commit.
 * Owns: the order of commits, their batching, and what is done when one is not accepted. Does not own: what a step is (the
 * behaviour), slots and claims (the node), leases (the renewer).
 * U1 One commit of a turn is in flight at a time; steps added meanwhile go out with the next. U2 Nothing is committed after the turn
 *    is over; a turn is over once, for one reason. U3 The ending commit holds the last steps: a turn of one step costs one script.
 * U4 When Redis refuses a step (a limit, an unknown recipient), the step says what then: its run fails with a typed error, or it is
 *    dropped and the behaviour goes on; steps before it stand.
 * U5 A lazy step waits for the next one, at most `lazyCommitMs`: what only saves work after a crash costs no script of its own.
 * U6 After a start that came to nothing no step waits, and the next thing begins when the one before is recorded: what takes the
 *    process down must not be blamed on what was there before it.
 */

import { performance } from 'node:perf_hooks'
import { CancelledError, LeaseLostError, toRuntimeError } from '../../core/errors.ts'
import type { ClaimAnswer, CommitAnswer, CommitRequest, Grant, Refusal, RunPosition } from '../../core/ports/ports.ts'
import { type ChildOffering, childGrants } from '../../core/worker/child-grant.ts'
import { refusalError } from '../../core/worker/refusal.ts'
import { encodeRunState, type RunState } from '../../core/worker/run-state.ts'
import { encodeWait, forAny, goOn, type TurnWait } from '../../core/worker/wait.ts'
import { LazySignal } from './lazy-signal.ts'
import { batchLength, emptyStep, mergeSteps, requestOf, type Step } from './step.ts'
import type { TurnHost } from './turn-host.ts'

const none: readonly never[] = []

/** How a cancelled run ends; the behaviour knows what its entries look like. */
export type CancelledStep = (position: RunPosition) => Step

/** What the worker waits for, or that it goes on; and how long it waits where that is for its retry. */
interface TurnEnd {
  readonly wait: TurnWait
  readonly retryMs?: number
}

export type TurnOver = 'ended' | 'fenced' | 'stale' | 'unreachable' | 'blocked'

/** How a turn ended and what it left in the record: all that must outlive it. Final once `over` is set. */
export interface Left {
  readonly over: TurnOver | undefined
  readonly aborted: boolean
  readonly commitId: string
  readonly version: number
}

export class Turn {
  readonly grant: Grant
  readonly host: TurnHost
  index = -1 // In the renewer's list.
  readonly startedAt = performance.now()
  /** Time spent waiting for commits. */
  committingMs = 0
  /** The bell was moved to the busy ones by the renewer. */
  bellIsBusy = false
  lastRenewedAt = performance.now()
  /** The node drains: the behaviour ends the turn after the step in hand. */
  draining = false
  trustedUntil: number
  /** What the run is doing between two commits; the renewer writes it into the record. */
  doing: { readonly run: RunState; readonly firstByteSeen: boolean } | undefined
  /** Of the session, as the last answer of the store told it. */
  spending: Grant['spending']
  /** What the slot got with the ending commit. */
  claimed: ClaimAnswer = { kind: 'none' }
  #granted: readonly Grant[] = none
  /** The last try of the ending commit, if it offered to take children. */
  #offering: ChildOffering | undefined
  readonly #left: { -readonly [Name in keyof Left]: Left[Name] }
  readonly #abort = new LazySignal()
  readonly #finished = Promise.withResolvers<TurnOver>()
  #cancelledStep: CancelledStep | undefined
  #steps: Step[] = []
  /** As acknowledged by the store, and with the steps added since. */
  #position: RunPosition
  #latest: RunPosition
  #sequence = 0
  #inFlight: Promise<void> | undefined
  #pumpAsked = false
  #lazyTimer: NodeJS.Timeout | undefined
  /** Steps added, acknowledged, and the place of the last one that may not wait. */
  #added = 0
  #acknowledged = 0
  #eager = 0
  #ending = false
  /** It was cancelled, and how such a run ends is not known yet: the behaviour still reads. */
  #endsCancelled = false

  constructor(grant: Grant, host: TurnHost) {
    this.grant = grant
    this.host = host
    this.trustedUntil = grant.trustedUntil
    this.spending = grant.spending
    this.#left = { over: undefined, aborted: false, commitId: '', version: grant.version }
    const { run, calls, runState, open, attempt, retrying, awaits, timersOpen } = grant
    this.#position = { run, calls, runState, open, attempt, retrying, awaits, timersOpen }
    this.#latest = this.#position
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Has the signal fired? */
  get aborted(): boolean {
    return this.#left.aborted
  }

  /** As a listener of the signal, at a small part of its cost. */
  whenAborted(listener: (reason: Error) => void): () => void {
    return this.#abort.whenAborted(listener)
  }

  /** An earlier start came to nothing (U6). */
  get isRetaken(): boolean {
    return this.grant.starts > 1
  }

  get over(): TurnOver | undefined {
    return this.#left.over
  }

  get left(): Left {
    return this.#left
  }

  /** Children that the slot was given with the ending commit; where that was not answered, those that it may have been given. */
  get granted(): readonly Grant[] {
    const offering = this.#offering
    if (offering === undefined || this.#left.over === 'ended') return this.#granted
    // They are given back, which needs no trust in a lease: who does not hold them is refused.
    const granted = offering.request.spawns.map(({ id }) => id)
    const trustedUntil = performance.now() + this.host.policy.leaseMs - this.host.policy.leaseMarginMs
    return childGrants(offering, { granted, spending: this.spending, trustedUntil })
  }

  /** Resolves when the turn is over, whatever the behaviour still does. */
  get finished(): Promise<TurnOver> {
    return this.#finished.promise
  }

  /** After the last step that was added. */
  get position(): RunPosition {
    return this.#latest
  }

  /** Must be called before the first step. A cancel that came before ends the turn now. */
  whenCancelled(step: CancelledStep): void {
    this.#cancelledStep = step
    if (this.#endsCancelled) void this.#afterInFlight(() => this.#commitCancelled())
  }

  /** A step that a commit is to record: it is, once the turn is `settled`. `lazy`: nothing depends on it but work saved after a crash (U5). */
  add(step: Step, { lazy = false }: { lazy?: boolean } = {}): void {
    if (this.#left.over || this.#ending) return
    this.#steps.push(step)
    this.#latest = step.position
    this.#added++
    if (lazy && !this.isRetaken) this.#waitLazily()
    else {
      this.#eager = this.#added
      this.#askPump()
    }
  }

  #waitLazily(): void {
    this.#lazyTimer ??= setTimeout(() => this.flush(), this.host.policy.lazyCommitMs)
  }

  /** What is lazy goes out now. */
  flush(): void {
    this.#eager = this.#added
    this.#askPump()
  }

  /** Steps that the store has accepted, or declined. */
  get acknowledged(): number {
    return this.#acknowledged
  }

  get isSettled(): boolean {
    return this.#left.over !== undefined || this.#acknowledged >= this.#eager
  }

  /** Resolves when all that was added, but what is lazy, is acknowledged, or the turn is over. */
  async settled(): Promise<void> {
    while (!this.isSettled) await (this.#inFlight ?? Promise.resolve())
  }

  /** May an external call begin? Abandons the turn when its lease can no longer be trusted. */
  mayBegin(): boolean {
    if (!this.#left.over && performance.now() >= this.trustedUntil) this.abandon('unreachable')
    return !this.#left.over && !this.#ending
  }

  /** What the renewer writes into the record; empty for nothing. */
  get runStateSeen(): string {
    return this.doing === undefined ? '' : encodeRunState(this.doing.run, this.doing.firstByteSeen)
  }

  /** Ends the turn: the last steps, what the worker waits for and the slot's next claim in one commit. */
  async end(wait: TurnWait, retryMs?: number): Promise<void> {
    if (this.#left.over || this.#ending) return
    this.#ending = true
    await this.#afterInFlight(() => this.#drain({ wait, ...(retryMs === undefined ? {} : { retryMs }) }))
  }

  /** The run was cancelled: its signal fires and the cancelling end is committed at once, whatever the behaviour does. */
  async cancel(): Promise<void> {
    if (this.#left.over || this.#left.aborted) return
    this.#fire(new CancelledError(`the run of worker ${this.grant.workerId} was cancelled.`))
    this.#ending = true
    await this.#afterInFlight(() => this.#commitCancelled())
  }

  /** The lease is gone or no longer trusted: nothing is written any more. */
  abandon(why: Exclude<TurnOver, 'ended'>): void {
    if (this.#left.over) return
    this.#fire(new LeaseLostError(`this node no longer holds worker ${this.grant.workerId} (${why}).`))
    this.#finish(why)
  }

  /** What nobody foresaw, in its behaviour or here: it is abandoned. */
  giveUp(error: unknown): void {
    this.host.log.error('a turn broke; the worker goes on elsewhere when its lease has ended', {
      worker: this.grant.workerId,
      error: String((error as Error)?.stack ?? error),
    })
    this.abandon('unreachable')
  }

  /** The node stops: what was added is recorded, the message in hand is given back for another node. */
  async release(): Promise<void> {
    if (this.#left.over || this.#ending) return
    this.#ending = true
    this.#fire(new LeaseLostError(`this node is stopping; worker ${this.grant.workerId} goes on elsewhere.`))
    await this.#afterInFlight(() => this.#drain({ wait: goOn }))
  }

  #fire(reason: Error): void {
    this.#left.aborted = true
    this.#abort.abort(reason)
  }

  #finish(over: TurnOver): void {
    if (this.#left.over) return
    this.#left.over = over
    this.#left.commitId = `${this.grant.token}:${this.#sequence}`
    // It would keep the turn, and all that it holds, beyond its end: garbage that grows old is dear (decision 0013).
    clearTimeout(this.#lazyTimer)
    this.#finished.resolve(over)
  }

  // The pump waits one microtask, so that a step and the end that follows it directly become one commit (U3).
  #askPump(): void {
    if (this.#pumpAsked || this.#inFlight) return
    this.#pumpAsked = true
    queueMicrotask(() => {
      this.#pumpAsked = false
      this.#pump()
    })
  }

  #pump(): void {
    if (this.#left.over || this.#ending || this.#inFlight || this.#eager <= this.#added - this.#steps.length) return
    clearTimeout(this.#lazyTimer)
    this.#lazyTimer = undefined
    const batch = this.#steps.splice(0, batchLength(this.#steps))
    if (this.#steps.length > 0) this.#waitLazily()
    const goOn = () => {
      if (this.#inFlight === committing) this.#inFlight = undefined
      this.#pump()
    }
    const committing = this.#commit(batch, undefined).then(goOn, (error: unknown) => this.giveUp(error))
    this.#inFlight = committing
  }

  // What ends the turn waits for the commit on its way, and for another end that came before it (U1, U2).
  #afterInFlight(work: () => Promise<void>): Promise<void> {
    const before = this.#inFlight ?? Promise.resolve()
    const working = before
      .then(() => (this.#left.over ? undefined : work()))
      .catch((error: unknown) => this.giveUp(error))
    this.#inFlight = working
    return working
  }

  async #drain(end: TurnEnd): Promise<void> {
    while (!this.#left.over) {
      const batch = this.#steps.splice(0, batchLength(this.#steps))
      const last = this.#steps.length === 0
      await this.#commit(batch.length > 0 ? batch : [emptyStep(this.#position)], last ? end : undefined)
      if (last) return
    }
  }

  async #commit(steps: readonly Step[], end: TurnEnd | undefined): Promise<void> {
    if (this.#left.over) return
    const step = mergeSteps(steps)
    let answer: CommitAnswer
    const request = this.#request(step, end)
    const asked = performance.now()
    try {
      answer = await this.host.store.commit(request)
    } catch (thrown) {
      const error = toRuntimeError(thrown)
      this.host.log.error('a commit failed; the worker goes on elsewhere when its lease has ended', {
        worker: this.grant.workerId,
        error: error.message,
      })
      this.abandon('unreachable')
      return
    }
    this.committingMs += performance.now() - asked
    await this.#accept(answer, steps, step, end)
  }

  async #accept(answer: CommitAnswer, steps: readonly Step[], step: Step, end: TurnEnd | undefined): Promise<void> {
    // It is known then that none was taken.
    if (answer.kind !== 'ok') this.#offering = undefined
    switch (answer.kind) {
      case 'ok':
        this.#left.version = answer.version
        this.#acknowledged += steps.length
        this.#position = step.position
        this.spending = answer.spending
        this.host.ring(answer.bells)
        if (step.timers.length > 0) this.host.noteTimer(Math.min(...step.timers.map((timer) => timer.ms)))
        if (end) {
          if (end.retryMs !== undefined) this.host.noteTimer(end.retryMs)
          this.claimed = answer.claimed
          if (this.#offering && answer.granted) this.#granted = childGrants(this.#offering, answer)
          this.#finish('ended')
        }
        return
      case 'fenced':
        this.claimed = answer.claimed
        this.abandon('fenced')
        return
      case 'conflict':
        this.abandon('stale')
        return
      case 'cancelled':
        this.#fire(new CancelledError(`the run of worker ${this.grant.workerId} was cancelled.`))
        this.#ending = true
        await this.#commitCancelled()
        return
      case 'refused':
        await this.#refused(answer.refusals, steps, end)
    }
  }

  // Alone, each step of a batch is refused or stands by itself (U4); what was added on top of a refused one is dropped.
  async #refused(refusals: readonly Refusal[], steps: readonly Step[], end: TurnEnd | undefined): Promise<void> {
    if (steps.length > 1) {
      for (const [index, step] of steps.entries())
        await this.#commit([step], index === steps.length - 1 ? end : undefined)
      return
    }
    const error = refusalError(refusals[0] as Refusal, `worker ${this.grant.name} (${this.grant.workerId})`)
    const declined = steps[0]?.declined
    if (declined) {
      this.#acknowledged++
      this.#latest = this.#position
      declined(error)
      if (end) await this.#commit([emptyStep(this.#position)], end)
      return
    }
    this.#ending = true
    const failed = steps[0]?.refused?.(error)
    if (failed) await this.#commit([failed], { wait: forAny })
    else this.abandon('stale')
  }

  async #commitCancelled(): Promise<void> {
    this.#endsCancelled = this.#cancelledStep === undefined
    if (this.#cancelledStep) await this.#commit([this.#cancelledStep(this.#position)], { wait: forAny })
  }

  #request(step: Step, end: TurnEnd | undefined): CommitRequest {
    const ended = end && this.host.next(this, step)
    this.#sequence++
    const request = {
      ...requestOf(this.grant, step),
      sequence: this.#sequence,
      version: this.#left.version,
      offer: ended?.offer,
      end: end && ended && { ...end, wait: encodeWait(end.wait), next: ended.next },
      bell: this.host.bell,
      wasBusy: this.bellIsBusy,
    }
    // The turn may have gone on through several runs since it was granted.
    this.#offering = ended?.offer ? { parent: { ...this.grant, run: step.position.run }, request } : undefined
    return request
  }
}
