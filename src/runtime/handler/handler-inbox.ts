/**
 * Duty: which message a handler worker receives next: a pure function of what was granted and what was received since.
 * H1 While a run is open: timers first, then results in call order; other input waits for the end of the run.
 * H2 Between runs: the head of the user lane.
 * H3 What a worker waits for names exactly the message that `next` would give; or, where all results are gathered and none is in
 *    hand, as many as are still to come.
 */
import { childId } from '../../core/ids.ts'
import type { Grant, RunPosition } from '../../core/ports/ports.ts'
import type { Mail } from '../../core/worker/message.ts'
import { forAny, forResult, forResults, forSignal, type Wait } from '../../core/worker/wait.ts'

export type OpenWork = Pick<RunPosition, 'open' | 'run' | 'awaits'>

export class HandlerInbox {
  readonly #workerId: string
  readonly #control: Mail[]
  readonly #family: Mail[]
  readonly #user: Mail[]
  /** Results that this worker was ever given, this turn's included. */
  readonly #seen: number
  readonly #gathersAll: boolean

  constructor(grant: Pick<Grant, 'workerId' | 'mail' | 'familySeen'>, gather: 'each' | 'all' = 'each') {
    this.#workerId = grant.workerId
    this.#seen = grant.familySeen
    this.#gathersAll = gather === 'all'
    this.#control = [...grant.mail.control]
    this.#family = [...grant.mail.family]
    this.#user = [...grant.mail.user]
  }

  /** The next message, still in the inbox; null when there is nothing to receive now. */
  next(work: OpenWork): Mail | null {
    if (!work.open) return this.#user[0] ?? null
    const timer = this.#control[0]
    if (timer) return timer
    const expected = work.awaits[0]
    return this.#family.find(({ message }) => message.kind === 'result' && message.call === expected) ?? null
  }

  take(mail: Mail): void {
    const lane = { control: this.#control, family: this.#family, user: this.#user }[mail.lane]
    lane.splice(lane.indexOf(mail), 1)
  }

  /** A run ended: what was waiting for it alone is gone. */
  dropRun(): void {
    this.#control.length = 0
    this.#family.length = 0
  }

  /** What the worker waits for when `next` gives nothing. */
  wait(work: OpenWork): Wait {
    if (!work.open) return forAny
    const expected = work.awaits[0]
    if (expected === undefined) return forSignal
    if (this.#gathersAll && this.#family.length === 0) return forResults(this.#seen + work.awaits.length)
    return forResult(childId(this.#workerId, work.run, expected))
  }
}
