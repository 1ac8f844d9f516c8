/**
 * Duty: ids of wake-ups, as lua/shared/queue/wakeups.lua makes them: `<letter><seed>-<pool>-<number>`. A seed is unique for each call of a script, and
 * the ids are legal as BullMQ job ids.
 */
import { randomBytes } from 'node:crypto'
import type { Wakeup } from '../core/ports/wake.ts'

const ofThisProcess = randomBytes(6).toString('hex')
let calls = 0

/** Unique for each call: the process, and a count. */
export function newSeed(): string {
  return ofThisProcess + (calls++).toString(36)
}

/** A wake-up that no script put. If it was not needed, its claim finds nothing. */
export function extraWakeup(pool: string): Wakeup {
  return { id: `w${newSeed()}-${pool}-1`, pool }
}

/** Parses the wake-ups that a script put: comma-separated, each an id, or `<count>*<id without its number>`. */
export function parseWakeups(text: unknown): readonly Wakeup[] {
  if (typeof text !== 'string' || text === '') return none
  return text.split(',').flatMap((word): Wakeup | Wakeup[] => {
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
