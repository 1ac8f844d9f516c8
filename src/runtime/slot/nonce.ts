/**
 * Duty: nonces of claims: `<number>.<random>`. The random part makes sure that no other node has the same nonce. The number tells a claim
 * that arrives late, a second time, from the claims after it. Random bytes are drawn in bulk: one draw for each claim would cost more than
 * the rest of the claim.
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
