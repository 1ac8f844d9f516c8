/** When progress is published: the newest value, at a limited rate, and always the last one. */
import { performance } from 'node:perf_hooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ProgressGate } from '../../../src/runtime/tool/progress-gate.ts'

let told: unknown[] = []
let gate: ProgressGate
let now: number
/** Time passes, and timers fire in it. */
const pass = (ms: number) => {
  now += ms
  vi.advanceTimersByTime(ms)
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  now = 1_000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  told = []
  gate = new ProgressGate((value) => told.push(value), 40)
})
afterEach(() => {
  vi.useRealTimers()
})

test('the first value is published at once, then the newest one after each pause, with one timer for all waiting values', () => {
  // Those of tests before this one in the same process are not counted.
  vi.clearAllTimers()
  for (const value of [1, 2, 3]) gate.push(value)
  expect(told).toEqual([1])
  expect(vi.getTimerCount()).toBe(1)
  pass(40)
  expect(told).toEqual([1, 3])
  for (const value of [4, 5]) gate.push(value)
  pass(39)
  expect(told).toEqual([1, 3])
  pass(1)
  expect(told).toEqual([1, 3, 5])
  pass(40)
  gate.push(6)
  expect(told).toEqual([1, 3, 5, 6])
})

test('a timer that fired late because the tool computed publishes nothing before the next pause is over', () => {
  for (const value of [1, 2]) gate.push(value)
  // No timer fires while the test counts time.
  now += 50
  gate.push(3)
  gate.push(4)
  vi.advanceTimersByTime(39)
  expect(told).toEqual([1, 3])
  vi.advanceTimersByTime(1)
  expect(told).toEqual([1, 3, 4])
})

test('the last value is published on close, and nothing after it', () => {
  // Those of tests before this one in the same process are not counted.
  vi.clearAllTimers()
  for (const value of [1, 2]) gate.push(value)
  gate.close()
  expect(told).toEqual([1, 2])
  expect(vi.getTimerCount()).toBe(0)
  gate.push(3)
  gate.close()
  expect(told).toEqual([1, 2])
})
