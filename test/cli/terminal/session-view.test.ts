/** What stays on a terminal of what a session did, above the tree that is drawn again. */
import { afterEach, expect, test, vi } from 'vitest'
import { sessionView } from '../../../src/cli/terminal/session-view.ts'
import { Roster } from '../../../src/client/event/activity.ts'
import type { EventType, RawEvent } from '../../../src/core/event/event.ts'

const { isTTY } = process.stderr
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  process.stderr.isTTY = isTTY
})

const event = (type: EventType, details: RawEvent['details']): RawEvent => ({
  id: '1-0.0',
  type,
  sessionId: 's',
  workerId: 'root',
  at: 0,
  details,
})

test('a question stays on the screen, with the command that answers it', () => {
  vi.stubEnv('TERM', 'xterm')
  process.stderr.isTTY = true
  const written: string[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  using view = sessionView(false)
  view.watch('root')
  const roster = new Roster()
  view.showCommit([event('ask.opened', { id: 'a1', sort: 'question', question: 'Ship it?' })], roster)
  view.showCommit([event('step.recorded', { name: 'charge' })], roster)
  expect(written.join('')).toContain('asks: Ship it? (answer with: troupe ask answer a1 <answer>)')
  expect(written.join('')).not.toContain('charge')
})
