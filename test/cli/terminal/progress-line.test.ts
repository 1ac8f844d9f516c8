/** The progress of a command on a terminal, and its silence without one. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ProgressLine } from '../../../src/cli/terminal/progress-line.ts'
import { Screen } from './screen.ts'

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubEnv('TERM', 'xterm')
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
})

test('the progress line is drawn now and then, in place, and wiped at the end', () => {
  const screen = new Screen(80)
  const progress = new ProgressLine(screen.stream)
  progress.update('1 of 1 looked at')
  progress.update('7 of 30 looked at')
  vi.advanceTimersByTime(1_000)
  expect(screen.lines).toEqual(['7 of 30 looked at'])
  progress.update('8 of 31 looked at')
  vi.advanceTimersByTime(1_000)
  expect(screen.lines).toEqual(['8 of 31 looked at'])
  progress.update('9 of 32 looked at')
  progress[Symbol.dispose]()
  progress[Symbol.dispose]()
  vi.advanceTimersByTime(1_000)
  expect(screen.lines).toEqual([])
  expect(screen.written).not.toMatch(/1 of 1|9 of 32/)
})

test('the progress line takes one line on a narrow terminal', () => {
  const screen = new Screen(12)
  using progress = new ProgressLine(screen.stream)
  progress.update('7 of 30 looked at')
  vi.advanceTimersByTime(1_000)
  expect(screen.lines).toEqual(['7 of 30 lo…'])
})

test('the progress line writes nothing without a terminal', () => {
  // Those of tests before this one in the same process are not counted.
  vi.clearAllTimers()
  const screen = new Screen()
  screen.isTTY = false
  using progress = new ProgressLine(screen.stream)
  progress.update('7 of 30 looked at')
  vi.advanceTimersByTime(1_000)
  expect(vi.getTimerCount()).toBe(0)
  expect(screen.written).toBe('')
})
