/**
 * Duty: what an agent has used so far, as its record keeps it: `a ` and numbers in base 36, without the zeros at their end but the first.
 * T1 It never takes more than 64 bytes, so that the record stays small: a number that would need more digits stays at the highest
 *    one it can say.
 * T2 Handlers keep JSON in the same field; no JSON begins with `a`.
 */
import type { Spending } from '../policy.ts'
import { noUsage, tokensOf, type UsageReport } from '../worker/usage.ts'

export interface AgentTally extends UsageReport {
  /** Model calls of the current run; the others are totals of the worker's life. */
  readonly iterations: number
  /** Results and other mail that came when nothing waited for them. */
  readonly ignoredEvents: number
}

export const emptyTally: AgentTally = {
  iterations: 0,
  ...noUsage,
  ignoredEvents: 0,
}

/** What of it counts towards the limits of a session. */
export function spendingOf(tally: AgentTally): Spending {
  return { modelCalls: tally.modelCalls, tokens: tokensOf(tally) }
}

const mark = 'a '
const radix = 36

/** In the order they are written, with the digits each may take: 55, and with the mark and 7 spaces 64 bytes. */
const places: readonly (readonly [name: keyof AgentTally, digits: number])[] = [
  ['iterations', 4],
  ['modelCalls', 6],
  ['inputTokens', 8],
  ['outputTokens', 8],
  ['cacheReadTokens', 8],
  ['cacheWriteTokens', 8],
  ['reasoningTokens', 8],
  ['ignoredEvents', 5],
]

/** The highest number that so many digits say. */
const mosts = places.map(([, digits]) => radix ** digits - 1)

export function encodeTally(tally: AgentTally): string {
  let text = 'a'
  let length = 0
  for (let index = 0; index < places.length; index++) {
    const number = encodeNumber(tally[(places[index] as (typeof places)[0])[0]], mosts[index] as number)
    text += ` ${number}`
    if (number !== '0' || index === 0) length = text.length
  }
  return text.slice(0, length)
}

/** Is this an agent's, and no state of a handler? */
export function isTally(text: string): boolean {
  return text.startsWith(mark)
}

/** Null for what is no tally, such as the state of a handler. Numbers that a newer troupe adds behind are passed over. */
export function decodeTally(text: string): AgentTally | null {
  if (!isTally(text)) return null
  const words = text.slice(mark.length).split(' ')
  const tally = { ...emptyTally } as Record<keyof AgentTally, number>
  for (const [index, [name]] of places.entries()) {
    const word = words[index] ?? '0'
    if (!/^[0-9a-z]{1,8}$/.test(word)) return null
    tally[name] = Number.parseInt(word, radix)
  }
  return tally
}

/** What a provider counted may be a fraction or missing; the record holds whole numbers. */
function encodeNumber(value: number, most: number): string {
  if (value === 0) return '0'
  const whole = Number.isNaN(value) ? 0 : Math.trunc(value)
  return Math.min(most, Math.max(0, whole)).toString(radix)
}
