/**
 * Duty: the nonces of claims: `<number>.<random>`, and which slots of a node have a claim without an answer.
 * NONCE-1 A nonce is used for one claim. Its random part makes sure that no other node has the same; its number tells a claim that arrives
 *    late, a second time, from the claims after it.
 * NONCE-2 Exception: a slot whose last claim got no answer repeats that nonce, so that Redis hands out the same worker again instead of
 *    leaving it leased to nobody.
 */
import { randomBytes } from 'node:crypto'

/** Nonces are drawn in bulk: one draw for each claim would cost more than the rest of the claim. */
let pool = Buffer.alloc(0)
let used = 0
let count = 0

export function newNonce(): string {
  if (used + 6 > pool.length) {
    pool = randomBytes(6 * 1_024)
    used = 0
  }
  used += 6
  return `${(count++).toString(36)}.${pool.toString('base64url', used - 6, used)}`
}

/** The nonces of a node's slots in one partition. */
export class ClaimNonces {
  /** The nonces without an answer, by slot. This is an array, because a Map that changes with each turn makes garbage (bench/history.md). */
  readonly #unanswered: (string | undefined)[]

  constructor(slots: number) {
    this.#unanswered = Array.from({ length: slots })
  }

  /** The nonce for the next claim of this slot. */
  next(slot: number): string {
    const nonce = this.#unanswered[slot] ?? newNonce()
    this.#unanswered[slot] = nonce
    return nonce
  }

  /** Has the last claim of this slot got no answer (yet)? */
  isUnanswered(slot: number): boolean {
    return this.#unanswered[slot] !== undefined
  }

  noteAnswer(slot: number): void {
    this.#unanswered[slot] = undefined
  }
}
