/** How far an audit is, on a terminal; and that nothing is written where there is none. */
import { Writable } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AuditProgress } from '../../src/cli/audit-progress.ts'

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

test('is drawn now and then, in place, and wiped at the end', () => {
  const { written, stream } = screen(true)
  const progress = new AuditProgress(stream)
  progress.update({ sessions: 1, workers: 1 })
  progress.update({ sessions: 7, workers: 30 })
  vi.advanceTimersByTime(1_000)
  progress.update({ sessions: 8, workers: 31 })
  vi.advanceTimersByTime(1_000)
  progress.update({ sessions: 9, workers: 32 })
  progress.end()
  progress.end()
  vi.advanceTimersByTime(1_000)
  expect(written.join('')).toBe(
    '7 sessions with 30 workers looked at\n\u001b[1A\u001b[J8 sessions with 31 workers looked at\n\u001b[1A\u001b[J',
  )
})

test('takes one line of a narrow terminal', () => {
  const { written, stream } = screen(true, 12)
  using progress = new AuditProgress(stream)
  progress.update({ sessions: 7, workers: 30 })
  vi.advanceTimersByTime(1_000)
  expect(written.join('').trimEnd().length).toBeLessThan(12)
})

test('is not shown where nobody sees it', () => {
  const { written, stream } = screen(false)
  using progress = new AuditProgress(stream)
  progress.update({ sessions: 7, workers: 30 })
  vi.advanceTimersByTime(1_000)
  expect(vi.getTimerCount()).toBe(0)
  expect(written).toEqual([])
})
