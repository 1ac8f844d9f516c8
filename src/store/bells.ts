/** Duty: names of bells: `b<seed>-<pool>-<number>`, unique by a seed for each call, and legal as BullMQ job ids. */
import { randomBytes } from 'node:crypto'
import type { Bell } from '../core/ports.ts'

const ofThisProcess = randomBytes(6).toString('hex')
let calls = 0

/** Unique for each call: what this process is, and a count. */
export function newSeed(): string {
  return ofThisProcess + (calls++).toString(36)
}

/** The name that a script gives to the first bell it puts with this seed. */
export function firstBell(seed: string, pool: string): Bell {
  return { id: `b${seed}-${pool}-1`, pool }
}

export function parseBells(text: unknown): readonly Bell[] {
  if (typeof text !== 'string' || text === '') return none
  return text.split(',').map((id) => ({ id, pool: id.slice(id.indexOf('-') + 1, id.lastIndexOf('-')) }))
}

const none: readonly Bell[] = []
