/** The progress of a session on terminals that can, and that cannot, move the cursor. */
import { afterEach, expect, test, vi } from 'vitest'
import { LiveText } from '../../../src/cli/terminal/live-text.ts'
import { Progress } from '../../../src/cli/view/progress.ts'
import { Roster } from '../../../src/cli/view/roster.ts'

const { isTTY } = process.stderr

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  process.stderr.isTTY = isTTY
})

/** What is written while a session begins and ends on a terminal. */
function preview(terminal: string): string {
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

test('is drawn again in place where the terminal can', () => {
  expect(preview('xterm')).toContain('\u001b[1A\u001b[J')
  expect(new LiveText().isShown).toBe(true)
})

test('is told in plain lines where the terminal is dumb', () => {
  const written = preview('dumb')
  expect(written).not.toContain('\u001b')
  expect(written).toMatch(/0 workers: \n(.*\n)*a line\n/)
  expect(new LiveText().isShown).toBe(false)
})
