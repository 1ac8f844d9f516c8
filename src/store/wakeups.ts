/** Duty: names of wake-ups: `b<seed>-<pool>-<number>`, unique by a seed for each call, and legal as BullMQ job ids. */
import { randomBytes } from 'node:crypto'
import type { Wakeup } from '../core/ports/ports.ts'

const ofThisProcess = randomBytes(6).toString('hex')
let calls = 0

/** Unique for each call: what this process is, and a count. */
export function newSeed(): string {
  return ofThisProcess + (calls++).toString(36)
}

/** A wake-up that no script put: one that was not needed finds nothing. */
export function extraWakeup(pool: string): Wakeup {
  return { id: `b${newSeed()}-${pool}-1`, pool }
}

/** As scripts give them, comma-separated: the name of one, with a `!` before it when a node was told, or `<count>*<name without its number>`. */
export function parseWakeups(text: unknown): readonly Wakeup[] {
  if (typeof text !== 'string' || text === '') return none
  return text.split(',').flatMap((word): Wakeup | Wakeup[] => {
    if (word.startsWith('!')) return { ...wakeupOf(word.slice(1)), isTold: true }
    const star = word.indexOf('*')
    if (star < 0) return wakeupOf(word)
    const name = word.slice(star + 1)
    return Array.from({ length: Number(word.slice(0, star)) }, (_, index) => wakeupOf(`${name}-${index + 1}`))
  })
}

function wakeupOf(id: string): Wakeup {
  return { id, pool: id.slice(id.indexOf('-') + 1, id.lastIndexOf('-')) }
}

const none: readonly Wakeup[] = []
