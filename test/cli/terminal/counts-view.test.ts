/** How far a session is, where nothing is drawn: a line of counts now and then. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CountsView } from '../../../src/cli/terminal/counts-view.ts'
import { Roster } from '../../../src/client/event/activity.ts'
import type { RawEvent } from '../../../src/core/event/event.ts'
import { commit, created, spawning } from '../../words/commits.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function shown(json: boolean) {
  const [out, err]: [string[], string[]] = [[], []]
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0)
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => err.push(String(text).replace(/^\S+ {2}/, '')) > 0)
  const roster = new Roster()
  const view = new CountsView(json)
  const note = (events: RawEvent[]) => {
    for (const event of events) roster.note(event)
    view.showCommit(events, roster)
  }
  return { view, note, out, err }
}

test('counts are told two seconds after a change, once, and at the end if they have changed since', () => {
  const { view, note, out, err } = shown(false)
  note(created)
  note(spawning)
  vi.advanceTimersByTime(1_999)
  expect(err).toEqual([])
  vi.advanceTimersByTime(1)
  const first = '3 workers: 1 waiting, 2 queued\n'
  expect(err).toEqual([first])
  note(commit('root', 'message.sent' as never))
  vi.advanceTimersByTime(2_000)
  expect(err).toEqual([first])
  note(commit('a', 'run.started', 'run.completed'))
  view.end()
  view.end()
  vi.advanceTimersByTime(10_000)
  expect(err).toEqual([first, '3 workers: 1 waiting, 1 queued, 1 done\n'])
  expect(out).toEqual([])
})

test('with --json the events go to stdout as well', () => {
  const { note, out } = shown(true)
  note(created)
  expect(out.map((line) => JSON.parse(line) as RawEvent)).toMatchObject([{ type: 'session.created', workerId: 'root' }])
})
