/**
 * Duty: keeps the leases of a node's turns in one partition.
 * L1 A turn is first renewed when it has lasted `busyAfterMs`: its bell then counts as busy, so that others may be rung for the
 *    slots that sleep. Short turns are renewed only when their session was cancelled.
 * L2 A turn whose lease is no longer trusted is abandoned before Redis would give the worker to another node.
 * L3 A verdict of the store ends a turn at once: fenced is abandoned, cancelled makes its cancelling end.
 * L4 A lease that is lost since the event loop stood still is told as that: Redis was there.
 */

import { performance } from 'node:perf_hooks'
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { Policy } from '../../core/policy.ts'
import type { Bell, TurnStore } from '../../core/ports/ports.ts'
import { SwapList } from '../../core/swap-list.ts'
import { standstillText } from '../node/event-loop.ts'
import type { Turn } from '../turn/turn.ts'

const batchMax = 100

export class Renewer {
  readonly #store: TurnStore
  readonly #policy: Policy
  readonly #ring: (bells: readonly Bell[]) => void
  readonly #log: WorkerLog
  readonly #turns = new SwapList<Turn>()
  #timer: NodeJS.Timeout | undefined
  #renewing = false
  #lookedAt = 0

  constructor(store: TurnStore, policy: Policy, ring: (bells: readonly Bell[]) => void, log: WorkerLog) {
    this.#store = store
    this.#policy = policy
    this.#ring = ring
    this.#log = log
  }

  get turns(): readonly Turn[] {
    return this.#turns.list()
  }

  get size(): number {
    return this.#turns.size
  }

  add(turn: Turn): void {
    this.#turns.add(turn)
    if (this.#timer !== undefined) return
    this.#lookedAt = performance.now()
    this.#timer = setInterval(() => void this.runOnce(), this.#policy.busyAfterMs / 2)
  }

  remove(turn: Turn): void {
    this.#turns.remove(turn)
    if (this.#turns.size === 0) this.stop()
  }

  /** Renews what is due, or every turn of a session that was just cancelled. */
  async runOnce(sessionId?: string): Promise<void> {
    const now = performance.now()
    this.#abandonLate(now)
    if (this.#renewing && sessionId === undefined) return
    const due = this.turns.filter((turn) =>
      sessionId === undefined ? this.#isDue(turn, now) : turn.grant.sessionId === sessionId,
    )
    if (due.length === 0) return
    this.#renewing = true
    try {
      for (let from = 0; from < due.length; from += batchMax) await this.#renew(due.slice(from, from + batchMax))
    } catch (error) {
      const workers = due.slice(0, 5).map((turn) => turn.grant.workerId)
      const what = { partition: this.#store.partition, turns: due.length, workers, error: String(error) }
      this.#log.warn('leases could not be renewed; trying again', what)
    } finally {
      this.#renewing = false
    }
  }

  /** L2, L4. */
  #abandonLate(now: number): void {
    const sinceMs = now - this.#lookedAt
    this.#lookedAt = now
    // Without a turn nothing looks.
    const stoodStill = this.#timer !== undefined && sinceMs > this.#policy.busyAfterMs / 2 + this.#policy.renewEveryMs
    const late = this.turns.filter((turn) => !turn.over && now >= turn.trustedUntil)
    if (stoodStill) this.#log.warn(standstillText(sinceMs), { turns: this.size, lost: late.length })
    for (const turn of late) turn.abandon(stoodStill ? 'blocked' : 'unreachable')
  }

  #isDue(turn: Turn, now: number): boolean {
    if (turn.over) return false
    if (!turn.bellIsBusy) return now - turn.startedAt >= this.#policy.busyAfterMs
    return now - turn.lastRenewedAt >= this.#policy.renewEveryMs
  }

  async #renew(turns: readonly Turn[]): Promise<void> {
    const asked = performance.now()
    for (const turn of turns) turn.bellIsBusy = true
    const { verdicts, bells, trustedUntil } = await this.#store.renew(
      turns.map((turn) => ({
        workerId: turn.grant.workerId,
        token: turn.grant.token,
        bell: turn.host.bell,
        becomesBusy: true,
        runState: turn.runStateSeen,
      })),
    )
    this.#ring(bells)
    for (const [index, turn] of turns.entries()) {
      const verdict = verdicts[index]
      if (verdict === 'fenced') turn.abandon('fenced')
      else turn.trustedUntil = Math.max(turn.trustedUntil, trustedUntil)
      turn.lastRenewedAt = asked
      if (verdict === 'cancelled') void turn.cancel()
    }
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
