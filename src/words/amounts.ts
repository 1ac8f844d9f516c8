/** Duty: numbers for people: how many there are of something (`3 workers wait`), and counts of tokens (`950`, `12.3k`, `1.2M`). */
import type { Cost } from '../core/worker/run/cost.ts'

type SomeCost = { readonly [Name in keyof Cost]?: number | undefined }

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

export function countWaiting(number: number, noun: string): string {
  return `${count(number, noun)} ${number === 1 ? 'waits' : 'wait'}`
}

const tokenUnits = [
  [1_000_000_000, 'G'],
  [1_000_000, 'M'],
  [1_000, 'k'],
] as const

export function tokensText(tokens: number): string {
  for (const [size, unit] of tokenUnits) {
    // A count that would be rounded up to 1000 of one unit is shown as 1 of the next unit.
    if (tokens >= size * 0.99995) return `${(tokens / size).toFixed(1).replace(/\.0$/, '')}${unit}`
  }
  return String(Math.round(tokens))
}

/** `$0.0123`, `$12.40`; with what is not in it: `$0.0123 and 2 calls whose price is unknown`. Null if there was no call. */
export function costText({ costMicroUsd, unpricedModelCalls = 0 }: SomeCost): string | null {
  if (costMicroUsd === undefined) return null
  const unknown = `${count(unpricedModelCalls, 'call')} whose price is unknown`
  if (unpricedModelCalls > 0 && costMicroUsd === 0) return unknown
  return unpricedModelCalls === 0 ? usdText(costMicroUsd) : `${usdText(costMicroUsd)} and ${unknown}`
}

/** Cents from a dollar on; below it as many digits as say something. */
function usdText(microUsd: number): string {
  if (microUsd >= 1_000_000 || microUsd === 0) return `$${(microUsd / 1_000_000).toFixed(2)}`
  return `$${(microUsd / 1_000_000).toFixed(microUsd >= 1_000 ? 4 : 6)}`
}

/** `12.3k in, 678 out` */
export function inAndOut(inputTokens: unknown, outputTokens: unknown): string {
  return `${tokensText(Number(inputTokens ?? 0))} in, ${tokensText(Number(outputTokens ?? 0))} out`
}
