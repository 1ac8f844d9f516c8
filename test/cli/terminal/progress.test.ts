/** The progress of a session, on a terminal that can move the cursor and on one that cannot. */
import { afterEach, expect, test, vi } from 'vitest'
import { LiveText } from '../../../src/cli/terminal/live-text.ts'
import { Progress } from '../../../src/cli/terminal/progress.ts'
import { Roster } from '../../../src/client/activity.ts'

const { isTTY } = process.stderr

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  process.stderr.isTTY = isTTY
})

/** The output while a session begins and ends on a terminal. */
function outputOn(terminal: string): string {
  vi.useFakeTimers()
  vi.stubEnv('TERM', terminal)
  process.stderr.isTTY = true
  let written = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += String(text)
    return true
  })
  const progress = new Progress()
  progress.update(new Roster())
  vi.advanceTimersByTime(3_000)
  progress.tell('a line')
  progress.end()
  return written
}

test('draws again in place on a terminal that can', () => {
  expect(outputOn('xterm')).toContain('\u001b[1A\u001b[J')
  expect(new LiveText().isShown).toBe(true)
})

test('writes plain lines on a dumb terminal', () => {
  const written = outputOn('dumb')
  expect(written).not.toContain('\u001b')
  expect(written).toMatch(/0 workers: \n(.*\n)*a line\n/)
  expect(new LiveText().isShown).toBe(false)
})
