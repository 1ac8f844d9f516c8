/** Duty: nonces: random, eight characters, drawn in bulk since a call for each claim would cost more than the rest of it. */
import { randomBytes } from 'node:crypto'

let pool = Buffer.alloc(0)
let used = 0

export function newNonce(): string {
  if (used + 6 > pool.length) {
    pool = randomBytes(6 * 1_024)
    used = 0
  }
  used += 6
  return pool.toString('base64url', used - 6, used)
}
