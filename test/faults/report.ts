/** The table that people read. */
import type { RowResult } from './run-row.ts'

export function report(results: readonly RowResult[]): string {
  const lines = results.flatMap(({ id, promise, done, trials, violations, first, seed, seconds }) => [
    `${id.padEnd(5)} ${String(trials).padStart(7)} ${String(violations).padStart(10)} ${seconds.toFixed(1).padStart(8)} s  ${promise}`,
    `${' '.repeat(36)}${done}`,
    ...(first === null
      ? []
      : [`      first: ${first.split('\n')[0]}`, `      again: npm run faults -- --only ${id} --seed ${seed}`]),
  ])
  const trials = results.reduce((sum, result) => sum + result.trials, 0)
  const violations = results.reduce((sum, result) => sum + result.violations, 0)
  return [
    `${'row'.padEnd(5)} ${'trials'.padStart(7)} ${'violations'.padStart(10)} ${'time'.padStart(10)}  promise, and what was done`,
    ...lines,
    `${'all'.padEnd(5)} ${String(trials).padStart(7)} ${String(violations).padStart(10)}`,
    '',
  ].join('\n')
}
