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

/** As scripts give them, comma-separated: the name of one, or `<count>*<name without its number>`. */
export function parseBells(text: unknown): readonly Bell[] {
  if (typeof text !== 'string' || text === '') return none
  return text.split(',').flatMap((word) => {
    const star = word.indexOf('*')
    if (star < 0) return bellOf(word)
    const name = word.slice(star + 1)
    return Array.from({ length: Number(word.slice(0, star)) }, (_, index) => bellOf(`${name}-${index + 1}`))
  })
}

function bellOf(id: string): Bell {
  return { id, pool: id.slice(id.indexOf('-') + 1, id.lastIndexOf('-')) }
}

const none: readonly Bell[] = []
