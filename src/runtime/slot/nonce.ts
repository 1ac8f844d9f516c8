/**
 * Duty: nonces of claims: `<number>.<random>`. Random, so that no other node can hold the same; numbered, so that a duplicate of a
 * claim that arrives late is told from the claims after it. Random bytes are drawn in bulk: a call for each claim would cost more
 * than the rest of it.
 */
import { randomBytes } from 'node:crypto'

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
