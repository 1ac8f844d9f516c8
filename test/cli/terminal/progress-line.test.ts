/** The progress of a command on a terminal, and its silence without one. */
import { Writable } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ProgressLine } from '../../../src/cli/terminal/progress-line.ts'

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubEnv('TERM', 'xterm')
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
})

function screen(isTTY: boolean, columns = 80) {
  const written: string[] = []
  const stream = new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      written.push(text)
      done()
    },
  })
  return { written, stream: Object.assign(stream, { isTTY, columns }) as unknown as NodeJS.WriteStream }
}

test('draws now and then, in place, and wipes the line at the end', () => {
  const { written, stream } = screen(true)
  const progress = new ProgressLine(stream)
  progress.update('1 of 1 looked at')
  progress.update('7 of 30 looked at')
  vi.advanceTimersByTime(1_000)
  progress.update('8 of 31 looked at')
  vi.advanceTimersByTime(1_000)
  progress.update('9 of 32 looked at')
  progress[Symbol.dispose]()
  progress[Symbol.dispose]()
  vi.advanceTimersByTime(1_000)
  expect(written.join('')).toBe('7 of 30 looked at\n\u001b[1A\u001b[J8 of 31 looked at\n\u001b[1A\u001b[J')
})

test('takes one line on a narrow terminal', () => {
  const { written, stream } = screen(true, 12)
  using progress = new ProgressLine(stream)
  progress.update('7 of 30 looked at')
  vi.advanceTimersByTime(1_000)
  expect(written.join('').trimEnd().length).toBeLessThan(12)
})

test('writes nothing without a terminal', () => {
  const { written, stream } = screen(false)
  using progress = new ProgressLine(stream)
  progress.update('7 of 30 looked at')
  vi.advanceTimersByTime(1_000)
  expect(vi.getTimerCount()).toBe(0)
  expect(written).toEqual([])
})
