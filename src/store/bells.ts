/** Duty: names of bells: `b<seed>-<pool>-<number>`, unique by a random seed for each call, and legal as BullMQ job ids. */
import { randomBytes } from 'node:crypto'
import type { Bell } from '../core/ports.ts'

let pool = Buffer.alloc(0)
let used = 0

/** Twelve characters; random bytes are drawn in bulk, since a call for each would cost more than the name. */
export function newSeed(): string {
  if (used + 9 > pool.length) {
    pool = randomBytes(9 * 512)
    used = 0
  }
  used += 9
  return pool.toString('base64url', used - 9, used).replaceAll('-', '.')
}

export function parseBells(text: unknown): readonly Bell[] {
  if (typeof text !== 'string' || text === '') return none
  return text.split(',').map((id) => ({ id, pool: id.slice(id.indexOf('-') + 1, id.lastIndexOf('-')) }))
}

const none: readonly Bell[] = []
