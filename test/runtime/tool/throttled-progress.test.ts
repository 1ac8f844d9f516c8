/** When progress is published: the newest value, at a limited rate, and always the last one. */
import { performance } from 'node:perf_hooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ThrottledProgress } from '../../../src/runtime/tool/throttled-progress.ts'

let told: unknown[] = []
let progress: ThrottledProgress
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
  progress = new ThrottledProgress((value) => told.push(value), 40)
})
afterEach(() => {
  vi.useRealTimers()
})

test('the first value is published at once, then the newest one after each pause, with one timer for all waiting values', () => {
  // Those of tests before this one in the same process are not counted.
  vi.clearAllTimers()
  for (const value of [1, 2, 3]) progress.push(value)
  expect(told).toEqual([1])
  expect(vi.getTimerCount()).toBe(1)
  pass(40)
  expect(told).toEqual([1, 3])
  for (const value of [4, 5]) progress.push(value)
  pass(39)
  expect(told).toEqual([1, 3])
  pass(1)
  expect(told).toEqual([1, 3, 5])
  pass(40)
  progress.push(6)
  expect(told).toEqual([1, 3, 5, 6])
})

test('a timer that fired late because the tool computed publishes nothing before the next pause is over', () => {
  for (const value of [1, 2]) progress.push(value)
  // No timer fires while the test counts time.
  now += 50
  progress.push(3)
  progress.push(4)
  vi.advanceTimersByTime(39)
  expect(told).toEqual([1, 3])
  vi.advanceTimersByTime(1)
  expect(told).toEqual([1, 3, 4])
})

test('the last value is published on close, and nothing after it', () => {
  // Those of tests before this one in the same process are not counted.
  vi.clearAllTimers()
  for (const value of [1, 2]) progress.push(value)
  progress.close()
  expect(told).toEqual([1, 2])
  expect(vi.getTimerCount()).toBe(0)
  progress.push(3)
  progress.close()
  expect(told).toEqual([1, 2])
})
