/** Duty: counts of tokens, for people: `950`, `12.3k`, `1.2M`. */

const units = [
  [1_000_000_000, 'G'],
  [1_000_000, 'M'],
  [1_000, 'k'],
] as const

export function tokensText(count: number): string {
  for (const [size, unit] of units) {
    // What would be rounded up to 1000 of a unit is one of the next.
    if (count >= size * 0.99995) return `${(count / size).toFixed(1).replace(/\.0$/, '')}${unit}`
  }
  return String(Math.round(count))
}

/** `12.3k in, 678 out` */
export function inAndOut(inputTokens: unknown, outputTokens: unknown): string {
  return `${tokensText(Number(inputTokens ?? 0))} in, ${tokensText(Number(outputTokens ?? 0))} out`
}
