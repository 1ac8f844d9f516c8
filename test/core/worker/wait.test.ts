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
  'a text that is no wait is read as none: %j',
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
  ] as const)('a wait for %j is ended by %j, and not by %j', (wait, ends, others) => {
    for (const arrival of ends) expect(endsWait(wait, arrival)).toBe(true)
    for (const arrival of others) expect(endsWait(wait, arrival)).toBe(false)
  })

  test('a wait has words for people', () => {
    const facts = {
      openChildren: 2,
      waitingChildren: 0,
      spawned: 2,
      attempts: 1,
      callOf: () => 7,
      timers: 0,
      asks: 0,
      ask: undefined,
      gate: null,
    }
    expect(all.map((wait) => waitText(wait, facts))).toEqual([
      'input',
      'a timer or an answer',
      'a retry after 1 failed attempt',
      `the result of its child number 7 (${child}); 2 children are open`,
      'results of its children; 2 are open',
    ])
  })

  const question = { kind: 'question', question: 'Ship it?' } as const
  const approval = { kind: 'approval', question: 'pay' } as const
  const signal = { kind: 'signal', question: 'paid' } as const
  test.each([
    [forSignal, { timers: 1 }, 'a timer'],
    [forSignal, { asks: 1, ask: question }, 'a person to answer "Ship it?"'],
    [forSignal, { asks: 1, ask: approval }, 'a person to approve "pay"'],
    [forSignal, { asks: 1, ask: signal }, 'the signal "paid"'],
    [forSignal, { asks: 1 }, 'an answer'],
    [forSignal, { asks: 2, ask: question }, 'a person to answer "Ship it?", and 1 more ask'],
    [forSignal, { asks: 4, ask: signal, timers: 1 }, 'the signal "paid", and 3 more asks, or a timer'],
    [forResults(3), { asks: 1, ask: question }, 'results of its children, or a person to answer "Ship it?"'],
    [forRetry, { asks: 1, ask: question, attempts: 1 }, 'a retry after 1 failed attempt'],
  ])('a wait names what was asked of somebody outside: %j %j', (wait, facts, words) => {
    const none = {
      openChildren: 0,
      waitingChildren: 0,
      spawned: 0,
      attempts: 0,
      callOf: () => null,
      timers: 0,
      asks: 0,
      ask: undefined,
      gate: null,
    }
    expect(waitText(wait, { ...none, ...facts })).toBe(words)
  })
})
