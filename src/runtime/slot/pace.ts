/**
 * Duty: how long this node's turns in one partition keep user code busy, by pool, and what the bell rule (writeBells in lua/shared/mail.lua)
 * may expect of a slot that is awake.
 * Where handlers return at once, one slot takes several workers in a row sooner than another could be woken: a BullMQ job costs
 * more than the turn. Where they take time, every queued worker has a bell of its own. Decision 0002 has the measurements.
 * A1 One long turn in the last period makes the share 1, and does so at once (renew.lua); else the mean of the turns decides.
 */

import { policy } from '../../core/policy.ts'

/** User code of all the turns expected of one slot takes at most this long. */
const budgetMs = 10
const shareMost = 16
/** So many turns after a quiet time are news. */
const burstTurns = 20

interface Seen {
  turns: number
  busyMs: number
  longest: number
}

export class Pace {
  readonly #pools = new Map<string, Seen>()
  /** Shares of the last period, of pools that ran turns in it. */
  readonly #told = new Map<string, number>()

  /**
   * A turn of this pool has ended, with so much time outside of commits. Tells whether this is news: turns after a quiet time, whose
   * share nobody knows before it is taken.
   */
  note(pool: string, busyMs: number): boolean {
    const seen = this.#pools.get(pool) ?? { turns: 0, busyMs: 0, longest: 0 }
    seen.turns++
    seen.busyMs += busyMs
    seen.longest = Math.max(seen.longest, busyMs)
    this.#pools.set(pool, seen)
    return seen.turns === burstTurns && !this.#told.has(pool)
  }

  /** The share for the period since the last call, which begins anew; 0 when there was no turn. */
  take(pool: string): number {
    const seen = this.#pools.get(pool)
    if (seen === undefined) {
      this.#told.delete(pool)
      return 0
    }
    this.#pools.delete(pool)
    const share = shareOf(seen)
    this.#told.set(pool, share)
    return share
  }

  /** The share of the last period; 1 when there was no turn, or one of this period was long. */
  expectedShare(pool: string): number {
    const longest = this.#pools.get(pool)?.longest ?? 0
    return longest >= policy.busyAfterMs ? 1 : (this.#told.get(pool) ?? 1)
  }
}

function shareOf({ turns, busyMs, longest }: Seen): number {
  if (longest >= policy.busyAfterMs) return 1
  return Math.max(1, Math.min(shareMost, Math.floor(budgetMs / Math.max(busyMs / turns, 0.1))))
}
