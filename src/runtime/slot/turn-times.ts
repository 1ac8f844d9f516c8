/**
 * Duty: measures how long this node's turns keep user code busy, for each pool of one partition, and derives from that how many
 * workers one wake-up may be expected to serve (`workersPerWake`).
 * Where handlers return at once, a slot takes several workers in a row sooner than another slot could be woken: a BullMQ job costs more than
 * such a turn. Where handlers take time, each queued worker needs a wake-up of its own. bench/history.md has the measurements.
 * TIMES-1 One long turn in a period makes the number 1. renew.lua writes that at once; else the mean of the turns decides.
 */

import { policy } from '../../core/policy.ts'

/** User code of all the turns that one wake-up is expected to serve takes at most this long. */
const budgetMs = 10
const workersPerWakeMost = 16
/** After a quiet time, this many turns are worth telling Redis. */
const burstTurns = 20

interface Period {
  turns: number
  busyMs: number
  longestMs: number
}

export class TurnTimes {
  /** The times of the period that has not ended. */
  readonly #current = new Map<string, Period>()
  /** Workers per wake of the last period, for pools that ran turns in it. */
  readonly #last = new Map<string, number>()

  /**
   * A turn of this pool has ended after this much time outside of commits. Returns true if Redis should be told: the pool runs turns again after a
   * quiet time, and Redis does not learn their length before the next sweep.
   */
  note(pool: string, busyMs: number): boolean {
    const period = this.#current.get(pool) ?? { turns: 0, busyMs: 0, longestMs: 0 }
    period.turns++
    period.busyMs += busyMs
    period.longestMs = Math.max(period.longestMs, busyMs)
    this.#current.set(pool, period)
    return period.turns === burstTurns && !this.#last.has(pool)
  }

  /** Ends the period of this pool and returns its workers per wake; 0 if there was no turn. */
  endPeriod(pool: string): number {
    const period = this.#current.get(pool)
    if (period === undefined) {
      this.#last.delete(pool)
      return 0
    }
    this.#current.delete(pool)
    const workersPerWake = workersPerWakeOf(period)
    this.#last.set(pool, workersPerWake)
    return workersPerWake
  }

  /** Workers per wake of the last period; 1 if there was no turn in it, or a long one since. */
  expectedWorkersPerWake(pool: string): number {
    const longestMs = this.#current.get(pool)?.longestMs ?? 0
    return longestMs >= policy.busyAfterMs ? 1 : (this.#last.get(pool) ?? 1)
  }
}

function workersPerWakeOf({ turns, busyMs, longestMs }: Period): number {
  if (longestMs >= policy.busyAfterMs) return 1
  return Math.max(1, Math.min(workersPerWakeMost, Math.floor(budgetMs / Math.max(busyMs / turns, 0.1))))
}
