/**
 * Duty: encode what an agent has used so far for its record: `a ` and numbers in base 36. Zeros at the end are left out, except the first.
 * TALLY-1 The text never takes more than 64 bytes, so that the record stays small. A number that needs more digits stays at the largest value
 *         that its digits can hold. Failed calls, the last number, get the bytes that are left.
 * TALLY-2 Handlers keep JSON in the same field. No JSON begins with `a`.
 */
import type { Spending } from '../../policy.ts'
import type { Cost } from '../../worker/run/cost.ts'
import { noUsage, tokensOf, type UsageReport, usageOf } from '../../worker/run/usage.ts'

export interface AgentTally extends UsageReport {
  /** Iterations of the current run. All other numbers are totals of the worker's life. */
  readonly iterations: number
  /** Results and other mail that came although nothing waited for them. */
  readonly ignoredEvents: number
  /** How many requests there were, with those that failed; without those that never left, or that a busy provider refused. This number counts towards the limits of the session. */
  readonly modelCalls: number
}

export const emptyTally: Required<Omit<AgentTally, 'failedModelCalls' | 'toolCalls' | keyof Cost>> = {
  iterations: 0,
  ...noUsage,
  ignoredEvents: 0,
}

/** The part that counts towards the limits of a session. */
export function spendingOf(tally: AgentTally): Spending {
  return { modelCalls: tally.modelCalls, tokens: tokensOf(tally), toolCalls: tally.toolCalls ?? 0 }
}

/** The usage for reports, which shows answered and failed requests apart. */
export function reportedUsage(tally: AgentTally): UsageReport {
  return { ...usageOf(tally), modelCalls: tally.modelCalls - (tally.failedModelCalls ?? 0) }
}

const prefix = 'a '
const bytesMax = 64
const radix = 36

/** The numbers in the order in which they are written, with their most digits: 54 digits, 2 bytes of prefix and 8 spaces are 64 bytes. */
const fields: readonly (readonly [name: keyof typeof emptyTally | 'toolCalls', digits: number])[] = [
  ['iterations', 4],
  ['modelCalls', 5],
  ['inputTokens', 8],
  ['outputTokens', 8],
  ['toolCalls', 5],
  ['cacheReadTokens', 7],
  ['cacheWriteTokens', 7],
  ['reasoningTokens', 7],
  ['ignoredEvents', 3],
]

/** The largest value of each number. */
const largest = fields.map(([, digits]) => radix ** digits - 1)

export function encodeTally(tally: AgentTally): string {
  let text = 'a'
  let length = 0
  for (let index = 0; index < fields.length; index++) {
    const number = encodeNumber(tally[(fields[index] as (typeof fields)[0])[0]] ?? 0, largest[index] as number)
    text += ` ${number}`
    if (number !== '0' || index === 0) length = text.length
  }
  const { failedModelCalls = 0 } = tally
  if (failedModelCalls === 0) return text.slice(0, length)
  const failed = encodeNumber(failedModelCalls, radix ** Math.min(6, Math.max(0, bytesMax - text.length - 1)) - 1)
  return failed === '0' ? text.slice(0, length) : `${text} ${failed}`
}

/** True for the tally of an agent, false for the state of a handler. */
export function isTally(text: string): boolean {
  return text.startsWith(prefix)
}

/** Null for a text that is no tally, such as the state of a handler. Further numbers, which a newer version may write, are ignored. */
export function decodeTally(text: string): AgentTally | null {
  if (!isTally(text)) return null
  const words = text.slice(prefix.length).split(' ')
  const tally = { ...emptyTally } as Partial<Record<keyof AgentTally, number>>
  for (const [index, [name]] of fields.entries()) {
    const word = words[index] ?? '0'
    if (!/^[0-9a-z]{1,8}$/.test(word)) return null
    tally[name] = Number.parseInt(word, radix)
  }
  const failed = Number.parseInt(words[fields.length] ?? '0', radix)
  if (failed > 0) tally.failedModelCalls = failed
  if (tally.toolCalls === 0) delete tally.toolCalls
  return tally as AgentTally
}

/** A provider's count may be a fraction or NaN. The record holds whole numbers. */
function encodeNumber(value: number, most: number): string {
  if (value === 0) return '0'
  const whole = Number.isNaN(value) ? 0 : Math.trunc(value)
  return Math.min(most, Math.max(0, whole)).toString(radix)
}
