/**
 * Duty: decide which message a handler worker receives next, as a pure function of the messages that the claim brought and those that
 * this turn has received.
 * HANDLER-INBOX-1 While a run is open, what steers it comes first, then timers, then results in the order of their spawns. Further input waits for the end of
 *                 the run.
 * HANDLER-INBOX-2 Between runs the first input comes next.
 * HANDLER-INBOX-3 The wait of a worker names exactly the message that `next` would return. Exception: a handler that waits for all results
 *                 and has none yet waits for a number of results.
 */
import { childId } from '../../core/ids.ts'
import type { Assignment, RunPosition } from '../../core/ports/ports.ts'
import type { Mail } from '../../core/worker/message/message.ts'
import { forAny, forResult, forResults, forSignal, type Wait } from '../../core/worker/wait.ts'

export type OpenWork = Pick<RunPosition, 'open' | 'run' | 'pendingCalls'>

export class HandlerInbox {
  readonly #workerId: string
  readonly #signals: Mail[]
  readonly #results: Mail[]
  readonly #inbox: Mail[]
  /** Inputs that steer the run in progress. */
  #steers: readonly Mail[] = []
  /** How many results this worker has ever received, including those of this turn. */
  readonly #seen: number
  readonly #awaitsAll: boolean
  #takenOfAll = 0

  constructor(assignment: Pick<Assignment, 'workerId' | 'mail' | 'resultsSeen'>, results: 'each' | 'all' = 'each') {
    this.#workerId = assignment.workerId
    this.#seen = assignment.resultsSeen
    this.#awaitsAll = results === 'all'
    this.#signals = [...assignment.mail.signals]
    this.#results = [...assignment.mail.results]
    this.#inbox = [...assignment.mail.inbox]
  }

  /** The next message, which stays in the inbox. Null when there is nothing to receive now. */
  next(work: OpenWork): Mail | null {
    if (!work.open) return this.#inbox[0] ?? null
    const [steer] = this.#steers
    if (steer) return steer
    const timer = this.#signals[0]
    if (timer) return timer
    const expected = work.pendingCalls[0]
    return this.#results.find(({ message }) => message.kind === 'result' && message.call === expected) ?? null
  }

  /** True for a result of `await: 'all'`: it does not count as a step of the slice, since the claim has read all of them. */
  isOfAll({ lane }: Mail): boolean {
    return this.#awaitsAll && lane === 'results'
  }

  /** How many such results this turn has received. */
  get takenOfAll(): number {
    return this.#takenOfAll
  }

  /** Notes the inputs that wait and steer the run in progress. */
  steer(mails: readonly Mail[]): void {
    this.#steers = mails
  }

  take(mail: Mail): void {
    if (this.isOfAll(mail)) this.#takenOfAll++
    const lane = { signals: this.#signals, results: this.#results, inbox: this.#inbox }[mail.lane]
    const at = lane.findIndex(({ position }) => position === mail.position)
    // An input that steers the run may have come after the turn began.
    if (at >= 0) lane.splice(at, 1)
    this.#steers = this.#steers.filter(({ position }) => mail.lane !== 'inbox' || position !== mail.position)
  }

  /** Called when a run has ended: drops the timers and results that only this run waited for. */
  dropRun(): void {
    this.#signals.length = 0
    this.#results.length = 0
    this.#steers = []
  }

  /** What the worker waits for when `next` returns null. */
  wait(work: OpenWork): Wait {
    if (!work.open) return forAny
    const expected = work.pendingCalls[0]
    if (expected === undefined) return forSignal
    if (this.#awaitsAll && this.#results.length === 0) return forResults(this.#seen + work.pendingCalls.length)
    return forResult(childId(this.#workerId, work.run, expected))
  }
}
