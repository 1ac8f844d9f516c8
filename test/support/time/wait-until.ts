/** Waits for a condition instead of sleeping. The error says what was waited for and what was seen last. */

import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { patienceMs } from './patience.ts'

const pollMs = 10

/** Resolves with the condition's first truthy value. */
export async function waitUntil<T>(
  what: string,
  condition: () => T | Promise<T>,
  msMax = patienceMs,
): Promise<Exclude<T, false | undefined | null | 0 | ''>> {
  const deadline = Date.now() + msMax
  for (;;) {
    const seen = await condition()
    if (seen) return seen as Exclude<T, false | undefined | null | 0 | ''>
    if (Date.now() > deadline) throw new Error(`Waited ${msMax} ms in vain for: ${what}. Seen last: ${inspect(seen)}.`)
    await pause(pollMs)
  }
}
