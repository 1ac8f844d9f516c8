/** The live tree on a terminal: what stays, what is drawn again, and what a flood of events costs. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LiveTree } from '../../../src/cli/terminal/live-tree.ts'
import { Roster } from '../../../src/client/event/activity.ts'
import type { RawEvent } from '../../../src/core/event/event.ts'
import { at, commit, created, failure, spawning } from '../../words/commits.ts'
import { Screen } from './screen.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: at })
  vi.stubEnv('TERM', 'xterm')
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
})

function opened(screen = new Screen(60)) {
  const roster = new Roster()
  const tree = new LiveTree(screen.stream)
  tree.watch('root')
  const note = (...commits: RawEvent[][]) => {
    for (const event of commits.flat()) {
      roster.note(event)
      tree.note(event, roster)
    }
  }
  return { screen, tree, note }
}
const delta = (text: string, iteration = 1) => commit('root', ['text.delta', { text, iteration }])

test('the live tree is drawn below the lines that stay, and its last frame stays at the end (LIVETREE-1)', () => {
  // Those of tests before this one in the same process are not counted.
  vi.clearAllTimers()
  const { screen, tree, note } = opened()
  tree.tell('before')
  note(created, spawning)
  vi.advanceTimersByTime(100)
  tree.tell('between')
  expect(screen.lines.slice(0, 3)).toEqual([
    'before',
    'between',
    expect.stringMatching(/^3 workers: 1 waiting, 2 queued +TIME$/),
  ])
  note(commit('a', 'run.started', 'run.completed'))
  tree.end()
  tree.end()
  tree.tell('after')
  expect(screen.lines.at(-3)).toMatch(/docs \(reader\) +done/)
  expect(screen.lines.at(-1)).toBe('after')
  expect(vi.getTimerCount()).toBe(0)
})

test('a flood of text is drawn at most once in a tenth of a second (LIVETREE-2)', () => {
  const { screen, note } = opened()
  note(created, commit('root', 'run.started'))
  vi.advanceTimersByTime(1_000)
  const { length } = screen.writes
  for (let count = 0; count < 10_000; count++) note(delta('é\n'))
  vi.advanceTimersByTime(100)
  expect(screen.writes.length - length).toBe(1)
  expect(screen.lines.slice(1)).toEqual(Array.from({ length: 8 }, () => 'é'))
})

test('the live tree shows times that go on without an event', () => {
  const { screen, note } = opened()
  note(created, commit('root', 'run.started'))
  vi.advanceTimersByTime(5_100)
  expect(screen.lines).toEqual([expect.stringMatching(/^surveyor {2}working +5s$/)])
})

test('the live tree is drawn anew at once when the size of the terminal changes', () => {
  const { screen, note } = opened()
  note(created, spawning, commit('a', ['worker.failed', { failure }]))
  vi.advanceTimersByTime(100)
  screen.columns = 40
  screen.emit('resize')
  vi.advanceTimersByTime(0)
  expect(screen.lines.slice(-4).every((line) => line.length < 40)).toBe(true)
})

test('the live tree draws the next run of a conversation below', () => {
  const { screen, tree, note } = opened()
  note(created, commit('root', 'run.started', 'run.completed'))
  tree.end()
  note(delta('too late', 0))
  vi.advanceTimersByTime(1_000)
  expect(screen.lines).toHaveLength(1)
  tree.resume()
  note(commit('root', 'run.started'))
  vi.advanceTimersByTime(100)
  expect(screen.lines).toEqual([expect.stringContaining('done'), expect.stringContaining('working')])
})

test.each([
  ['in a pipe', false, 'xterm'],
  ['on a dumb terminal', true, 'dumb'],
])('the live tree writes only lines %s', (_, isTTY, terminal) => {
  vi.stubEnv('TERM', terminal)
  const { screen, tree, note } = opened(Object.assign(new Screen(60), { isTTY }))
  note(created, spawning)
  vi.advanceTimersByTime(2_000)
  tree.tell('a line')
  tree.end()
  expect(tree.isShown).toBe(false)
  expect(screen.written).toBe('a line\n')
})
