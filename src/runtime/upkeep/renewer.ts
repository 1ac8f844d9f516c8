/**
 * Duty: keeps the leases of a node's turns in one partition.
 * RENEW-1 A turn is first renewed when it has lasted `busyAfterMs`. The wake-up of its slot then counts as busy, and Redis may wake other
 *    slots instead. Short turns are renewed only if their session was cancelled.
 * RENEW-2 A turn whose lease is no longer trusted is abandoned before Redis would give the worker to another node.
 * RENEW-3 A verdict of the store ends a turn at once: a fenced one is abandoned, a cancelled one makes its cancelling end. The renewer tells
 *    Redis as soon as a paused turn begins nothing more: the caller of the pause waits for that.
 * RENEW-4 If a lease ran out because the event loop stood still, the log says that: Redis was there.
 * RENEW-5 The record of a turn that lasts shows what the run does about 100 ms after that began, as long as it lasts for half of that.
 */

import { performance } from 'node:perf_hooks'
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { Policy } from '../../core/policy.ts'
import type { TurnStore } from '../../core/ports/ports.ts'
import type { Wakeup } from '../../core/ports/wake.ts'
import { type SwapItem, SwapList } from '../../core/swap-list.ts'
import type { Turn } from '../turn/turn.ts'
import { standstillText } from '../user-code/event-loop.ts'

const batchMax = 100

/** What the renewer knows of one turn. */
export interface Renewal extends SwapItem {
  readonly turn: Turn
  /** True if Redis was asked to renew the turn's lease, even if it has not answered. */
  wasAsked: boolean
  renewedAt: number
  /** True if Redis was told that the turn begins nothing more. */
  isQuiet: boolean
}

export class Renewer {
  readonly #store: TurnStore
  readonly #policy: Policy
  readonly #wake: (wakeups: readonly Wakeup[]) => void
  readonly #log: WorkerLog
  readonly #renewals = new SwapList<Renewal>()
  #timer: NodeJS.Timeout | undefined
  #isRenewing = false
  #lookedAt = 0

  constructor(store: TurnStore, policy: Policy, wake: (wakeups: readonly Wakeup[]) => void, log: WorkerLog) {
    this.#store = store
    this.#policy = policy
    this.#wake = wake
    this.#log = log
  }

  get turns(): readonly Turn[] {
    return this.#renewals.list().map(({ turn }) => turn)
  }

  get size(): number {
    return this.#renewals.size
  }

  /** Returns what `remove` takes. */
  add(turn: Turn): Renewal {
    const renewal = { turn, wasAsked: false, renewedAt: turn.startedAt, isQuiet: false, index: -1 }
    this.#renewals.add(renewal)
    if (this.#timer === undefined) {
      this.#lookedAt = performance.now()
      this.#timer = setInterval(() => void this.runOnce(), this.#policy.busyAfterMs / 2)
    }
    return renewal
  }

  remove(renewal: Renewal): void {
    this.#renewals.remove(renewal)
    if (this.size === 0) this.stop()
  }

  /** Renews the turns that are due, or every turn of a session that was just cancelled. */
  async runOnce(sessionId?: string): Promise<void> {
    const now = performance.now()
    this.#abandonLate(now)
    if (this.#isRenewing && sessionId === undefined) return
    const due = this.#renewals
      .list()
      .filter((renewal) =>
        sessionId === undefined ? this.#isDue(renewal, now) : renewal.turn.assignment.sessionId === sessionId,
      )
    if (due.length === 0) return
    this.#isRenewing = true
    try {
      for (let from = 0; from < due.length; from += batchMax) await this.#renew(due.slice(from, from + batchMax))
    } catch (error) {
      const workers = due.slice(0, 5).map(({ turn }) => turn.assignment.workerId)
      const what = { partition: this.#store.partition, turns: due.length, workers, error: String(error) }
      this.#log.warn('leases could not be renewed; trying again', what)
    } finally {
      this.#isRenewing = false
    }
  }

  /** Abandons the turns whose leases are no longer trusted (RENEW-2, RENEW-4). */
  #abandonLate(now: number): void {
    const sinceMs = now - this.#lookedAt
    this.#lookedAt = now
    // While the node has no turn, nothing watches the event loop.
    const stoodStill = this.#timer !== undefined && sinceMs > this.#policy.busyAfterMs / 2 + this.#policy.renewEveryMs
    const late = this.turns.filter((turn) => !turn.over && !turn.lease.isTrusted(now))
    if (stoodStill) this.#log.warn(standstillText(sinceMs), { turns: this.size, lost: late.length })
    for (const turn of late) turn.abandon(stoodStill ? 'blocked' : 'unreachable')
  }

  /** True if the turn should be renewed now (RENEW-1). */
  #isDue(renewal: Renewal, now: number): boolean {
    const { turn, wasAsked, renewedAt } = renewal
    if (turn.over) return false
    if (isToBeNamedQuiet(renewal)) return true
    if (wasAsked && turn.unrecorded.ms(now) >= this.#policy.busyAfterMs / 2) return true
    return wasAsked ? now - renewedAt >= this.#policy.renewEveryMs : now - turn.startedAt >= this.#policy.busyAfterMs
  }

  async #renew(renewals: readonly Renewal[]): Promise<void> {
    const asked = performance.now()
    for (const renewal of renewals) {
      // This is noted before the answer, which may be lost.
      renewal.wasAsked = true
      renewal.turn.host.noteBusy()
    }
    const states = renewals.map(({ turn }) => turn.unrecorded.encoded)
    const quiet = renewals.map(({ turn }) => turn.pausing.isQuiet)
    const runs = renewals.map(({ turn }) => turn.steers.recordedRun)
    const { verdicts, steered, wakeups, trustedUntil } = await this.#store.renew(
      renewals.map(({ turn }, index) => ({
        workerId: turn.assignment.workerId,
        token: turn.assignment.token,
        wakeup: turn.host.wakeup,
        becomesBusy: true,
        isQuiet: quiet[index] === true,
        runState: states[index] ?? '',
      })),
    )
    this.#wake(wakeups)
    for (const [index, renewal] of renewals.entries()) {
      const { turn } = renewal
      const verdict = verdicts[index]
      renewal.renewedAt = asked
      turn.unrecorded.renewed(states[index] ?? '')
      if (verdict === 'fenced') turn.abandon('fenced')
      else turn.lease.extend(trustedUntil)
      if (verdict === 'cancelled') void turn.cancel()
      renewal.isQuiet = quiet[index] === true
      if (verdict === 'paused') turn.pausing.begin()
      const steers = steered?.get(index)
      if (steers) turn.steers.note(steers, runs[index] as number)
    }
    // Whoever pauses waits for this.
    if (renewals.some(isToBeNamedQuiet)) await this.#renew(renewals.filter(isToBeNamedQuiet))
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

function isToBeNamedQuiet({ turn, isQuiet }: Renewal): boolean {
  return turn.pausing.isQuiet && !isQuiet && !turn.over
}
