import { expect, test } from 'vitest'
import { progressTo } from '../../../src/testing/crash/progress.ts'

const runs = [
  { done: 1, total: 15, point: null, violations: 0 },
  { done: 2, total: 15, point: 'before claim #1', violations: 0 },
  { done: 3, total: 15, point: 'after claim #1', violations: 1 },
  { done: 4, total: 15, point: 'after tool pay of payer #1', violations: 2 },
]

test.each([
  [
    true,
    [
      'crash matrix: run 1 of 15, a run without a crash\n',
      'crash matrix: run 2 of 15, killed before claim #1\n',
      'crash matrix: run 3 of 15, killed after claim #1; 1 violation so far\n',
      'crash matrix: run 4 of 15, killed after tool pay of payer #1; 2 violations so far\n',
    ],
  ],
  [false, []],
])('a crash matrix writes a line for each run, if its output is a terminal: %s', (isTTY, lines) => {
  const written: string[] = []
  const tell = progressTo({ isTTY, write: (text) => written.push(text) })
  for (const run of runs) tell(run)
  expect(written).toEqual(lines)
})
