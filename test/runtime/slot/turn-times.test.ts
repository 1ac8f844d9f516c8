/** How many workers one wake-up may be expected to serve, by the length of the turns before. */
import { expect, test } from 'vitest'
import { TurnTimes } from '../../../src/runtime/slot/turn-times.ts'

const workersPerWakeAfter = (...turnsMs: number[]) => {
  const times = new TurnTimes()
  for (const ms of turnsMs) times.note('default', ms)
  return times.endPeriod('default')
}

test('a wake-up serves as many workers as ten milliseconds of user code allow, by the mean of the turns', () => {
  expect(workersPerWakeAfter(2.5, 2.5)).toBe(4)
  expect(workersPerWakeAfter(1, 4)).toBe(4)
  expect(workersPerWakeAfter(6)).toBe(1)
  // A slot that is awake serves one worker in any case: 0 would say that no turn ran.
  expect(workersPerWakeAfter(50, 60)).toBe(1)
})

test('a wake-up serves sixteen workers at most, however short the turns are', () => {
  expect(workersPerWakeAfter(0, 0.01)).toBe(16)
})

test('a long turn among many short ones gives every worker a wake-up of its own (TIMES-1)', () => {
  expect(workersPerWakeAfter(...Array.from({ length: 1_000 }, () => 0.1), 100)).toBe(1)
})

test('a period without turns reports nothing, and pools are kept apart', () => {
  const times = new TurnTimes()
  times.note('default', 1)
  expect(times.endPeriod('gpu')).toBe(0)
  expect(times.endPeriod('default')).toBe(10)
  expect(times.endPeriod('default')).toBe(0)
})

test('a slot expects what the last period showed, and 1 after a long turn in this period', () => {
  const times = new TurnTimes()
  expect(times.expectedWorkersPerWake('default')).toBe(1)
  times.note('default', 1)
  expect(times.expectedWorkersPerWake('default')).toBe(1)
  times.endPeriod('default')
  expect([times.expectedWorkersPerWake('default'), times.expectedWorkersPerWake('gpu')]).toEqual([10, 1])
  times.note('default', 99)
  expect(times.expectedWorkersPerWake('default')).toBe(10)
  times.note('default', 100)
  expect(times.expectedWorkersPerWake('default')).toBe(1)
  times.endPeriod('default')
  times.endPeriod('default')
  expect(times.expectedWorkersPerWake('default')).toBe(1)
})

test('a change is reported only with the twentieth turn after a quiet time, and pools are kept apart', () => {
  const times = new TurnTimes()
  const news = (pool: string) =>
    Array.from({ length: 60 }, () => times.note(pool, 1)).flatMap((is, at) => (is ? [at] : []))
  expect([news('default'), news('gpu')]).toEqual([[19], [19]])
  times.endPeriod('default')
  expect([news('default'), news('gpu')]).toEqual([[], []])
  times.endPeriod('default')
  times.endPeriod('default')
  expect(news('default')).toEqual([19])
})
