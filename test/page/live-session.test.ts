/** What the page keeps of a session that it follows: the text that models write now, the events, and what must be read again. */
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RawEvent } from '../../src/core/event/event.ts'

vi.stubGlobal('sessionStorage', { getItem: () => null })
const { queries } = await import('../../src/page/api/queries.ts')
const { LiveSession } = await import('../../src/page/screens/session/live-session.ts')

afterAll(() => vi.unstubAllGlobals())
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const event = (type: string, details: object = {}, more: Partial<RawEvent> = {}) =>
  ({ type, workerId: 'w', details, ...more }) as RawEvent
const delta = (text: string, offset: number, { request = 'r', type = 'text.delta' } = {}) =>
  event(type, { request, text, offset }, { transient: true })

test('the pieces of a reply are one text; a piece that was lost leaves a gap, one that comes twice changes nothing, and another reply begins anew', () => {
  const live = new LiveSession('s')
  const text = (...events: RawEvent[]) => {
    live.note(events)
    return live.textOf('w')
  }
  expect(text(delta('Hel', 0), delta('lo', 3))).toEqual({ request: 'r', reasoning: '', text: 'Hello', isDone: false })
  expect(text(delta('lo', 3))?.text).toBe('Hello')
  expect(text(delta('!', 7))?.text).toBe('Hello……!')
  expect(text(delta('why', 0, { type: 'reasoning.delta' }))).toMatchObject({ reasoning: 'why', text: 'Hello……!' })
  expect(text(delta('next', 0, { request: 'r2' }))).toEqual({
    request: 'r2',
    reasoning: '',
    text: 'next',
    isDone: false,
  })
  expect(live.textOf('another')).toBeUndefined()
})

test.each(['model.replied', 'model.blanked', 'turn.retried', 'worker.failed', 'worker.cancelled', 'run.completed'])(
  'text that is written goes once %s has come and the history was read, and not before (LIVE-1)',
  (type) => {
    const live = new LiveSession('s')
    live.note([delta('Hello', 0)])
    live.forgetText('w')
    expect(live.textOf('w')).toMatchObject({ isDone: false })
    live.note([event(type)])
    expect(live.textOf('w')).toMatchObject({ text: 'Hello', isDone: true })
    live.forgetText('w')
    expect(live.textOf('w')).toBeUndefined()
  },
)

test('the last thousand stored events are kept, and each counts as a change of its worker (LIVE-2)', () => {
  const live = new LiveSession('s')
  const listener = vi.fn<() => void>()
  const leave = live.subscribe(listener)
  live.note(Array.from({ length: 1_002 }, (_, nth) => event('step.recorded', { nth })))
  live.note([delta('x', 0)])
  expect(live.events).toHaveLength(1_000)
  expect(live.events[0]?.details).toEqual({ nth: 2 })
  expect([live.changesOf('w'), live.changesOf('another')]).toEqual([1_002, 0])
  leave()
  live.note([event('run.started')])
  expect(listener).toHaveBeenCalledTimes(2)
})

test('what has changed is read again after a moment, once for all that came meanwhile; deltas alone change nothing', async () => {
  const read = vi.spyOn(queries, 'refetchQueries').mockImplementation(async () => {
    await new Promise((resolve) => setTimeout(resolve, 200))
  })
  const asked = vi.spyOn(queries, 'invalidateQueries').mockResolvedValue(undefined)
  const live = new LiveSession('s')
  live.note([delta('x', 0)])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(read).not.toHaveBeenCalled()
  live.note([event('run.started')])
  live.note([event('worker.stateChanged', {}, { transient: true })])
  await vi.advanceTimersByTimeAsync(99)
  expect(read).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  const of = read.mock.calls.map(([filter]) =>
    ['sessions/s', 'sessions/s/timeline', 'sessions/other'].map((path) =>
      filter?.predicate?.({ queryKey: [path] } as never),
    ),
  )
  expect(of).toEqual([
    [true, false, false],
    [false, true, false],
  ])
  // Reading took 200 ms, and so it is read again after three times that.
  await vi.advanceTimersByTimeAsync(200)
  live.note([event('run.completed')])
  await vi.advanceTimersByTimeAsync(599)
  expect(read).toHaveBeenCalledTimes(2)
  await vi.advanceTimersByTimeAsync(1)
  expect(read).toHaveBeenCalledTimes(4)
  expect(asked).not.toHaveBeenCalled()
  live.note([event('ask.opened')])
  expect(asked.mock.calls.map(([filter]) => filter?.queryKey)).toEqual([['approvals'], ['asks']])
  live.stop()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(read).toHaveBeenCalledTimes(4)
})
