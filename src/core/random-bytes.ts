/** Duty: random bytes, drawn in bulk: a draw for each id costs more than all the rest of it. */
import { randomBytes } from 'node:crypto'

const drawnAtOnce = 6 * 1_024

let pool = Buffer.alloc(0)
let used = 0

/** So many that nobody else is given. At most 6 KB. */
export function drawBytes(count: number): Buffer {
  if (used + count > pool.length) {
    pool = randomBytes(drawnAtOnce)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}
