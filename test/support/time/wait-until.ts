/** Waits for a condition instead of sleeping. The error says what was waited for and what was seen last. */

import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'

const pollMs = 10
/** Most conditions come true within milliseconds. A machine with ten busy programs for each core holds them up for a minute. */
const usualMsMax = 120_000

/** Resolves with the condition's first truthy value. */
export async function waitUntil<T>(
  what: string,
  condition: () => T | Promise<T>,
  msMax = usualMsMax,
): Promise<Exclude<T, false | undefined | null | 0 | ''>> {
  const deadline = Date.now() + msMax
  for (;;) {
    const seen = await condition()
    if (seen) return seen as Exclude<T, false | undefined | null | 0 | ''>
    if (Date.now() > deadline) throw new Error(`Waited ${msMax} ms in vain for: ${what}. Seen last: ${inspect(seen)}.`)
    await pause(pollMs)
  }
}
