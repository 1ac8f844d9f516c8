/** What a slot that is awake may be expected to take in a row (decision 0002). */
import { expect, test } from 'vitest'
import { Pace } from '../../../src/runtime/slot/pace.ts'

const shareAfter = (...turnsMs: number[]) => {
  const pace = new Pace()
  for (const ms of turnsMs) pace.note('default', ms)
  return pace.take('default')
}

test('ten milliseconds of user code are expected of one slot, by the mean of the turns', () => {
  expect(shareAfter(2.5, 2.5)).toBe(4)
  expect(shareAfter(1, 4)).toBe(4)
  expect(shareAfter(6)).toBe(1)
  // Of a slot that is awake one worker is expected in any case: 0 would say that no turn was seen.
  expect(shareAfter(50, 60)).toBe(1)
})

test('a slot is expected to take sixteen at most, however short the turns are', () => {
  expect(shareAfter(0, 0.01)).toBe(16)
})

test('one long turn among many short ones leaves every worker its own bell (A1)', () => {
  expect(shareAfter(...Array.from({ length: 1_000 }, () => 0.1), 100)).toBe(1)
})

test('a period without turns tells nothing, and pools are told apart', () => {
  const pace = new Pace()
  pace.note('default', 1)
  expect(pace.take('gpu')).toBe(0)
  expect(pace.take('default')).toBe(10)
  expect(pace.take('default')).toBe(0)
})

test('of a slot that ends a turn the share of the last period is expected, and 1 when a turn of this one was long', () => {
  const pace = new Pace()
  expect(pace.expectedShare('default')).toBe(1)
  pace.note('default', 1)
  expect(pace.expectedShare('default')).toBe(1)
  pace.take('default')
  expect([pace.expectedShare('default'), pace.expectedShare('gpu')]).toEqual([10, 1])
  pace.note('default', 99)
  expect(pace.expectedShare('default')).toBe(10)
  pace.note('default', 100)
  expect(pace.expectedShare('default')).toBe(1)
  pace.take('default')
  pace.take('default')
  expect(pace.expectedShare('default')).toBe(1)
})

test('the twentieth turn after a quiet time is news, and no other; pools are told apart', () => {
  const pace = new Pace()
  const news = (pool: string) =>
    Array.from({ length: 60 }, () => pace.note(pool, 1)).flatMap((is, at) => (is ? [at] : []))
  expect([news('default'), news('gpu')]).toEqual([[19], [19]])
  pace.take('default')
  expect([news('default'), news('gpu')]).toEqual([[], []])
  pace.take('default')
  pace.take('default')
  expect(news('default')).toEqual([19])
})
