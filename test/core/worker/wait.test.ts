/** The grammar of what a worker waits for. */
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import {
  decodeWait,
  encodeWait,
  endsWait,
  forAny,
  forResult,
  forResults,
  forRetry,
  forSignal,
  type Wait,
  waitText,
} from '../../../src/core/worker/wait.ts'

const child = newId(0)
const all: readonly Wait[] = [forAny, forSignal, forRetry, forResult(child), forResults(3)]

test.each(all)('a wait is decoded as it was encoded: %j', (wait) => {
  expect(decodeWait(encodeWait(wait))).toEqual(wait)
})

test.each(['', 'again', 'result:', 'result:nobody', 'results:', 'results:x', 'results:-1', 'any ', 'what is new'])(
  'what is no wait is read as none: %j',
  (text) => {
    expect(decodeWait(text)).toBeNull()
  },
)

describe('a wait', () => {
  const input = { lane: 'inbox', count: 1 } as const
  const timer = { lane: 'signals', count: 1 } as const
  const result = (count: number, from = child) => ({ lane: 'results', child: from, count }) as const

  test.each([
    [forAny, [input, timer, result(1)], []],
    [forSignal, [timer], [input, result(1)]],
    [forRetry, [], [input, timer, result(1)]],
    [forResult(child), [timer, result(1)], [input, result(1, newId(0))]],
    [forResults(3), [timer, result(3), result(4)], [input, result(2)]],
  ] as const)('%j is ended by %j, and not by %j', (wait, ends, others) => {
    for (const arrival of ends) expect(endsWait(wait, arrival)).toBe(true)
    for (const arrival of others) expect(endsWait(wait, arrival)).toBe(false)
  })

  test('has words for people', () => {
    const facts = { openChildren: 2, attempts: 1, callOf: () => 7 }
    expect(all.map((wait) => waitText(wait, facts))).toEqual([
      'input',
      'a timer or an answer',
      'a retry after 1 failed attempt',
      `the result of its child number 7 (${child}); 2 children are open`,
      'results of its children; 2 are open',
    ])
  })
})
