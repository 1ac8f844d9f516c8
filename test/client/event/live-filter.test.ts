/** Which notes one follower gets if notes come twice, late, or in another order. */
import { describe, expect, test } from 'vitest'
import { LiveFilter } from '../../../src/client/event/live-filter.ts'
import type { LiveNote } from '../../../src/core/ports/live.ts'

const joinedAt = 1_000
const soon = joinedAt + 100

function opened() {
  const filter = new LiveFilter()
  filter.join(joinedAt)
  const pass = (notes: readonly LiveNote[], isRepeat = false, now = soon) =>
    filter.pass({ sessionId: 's', workerId: 'w', notes, ...(isRepeat && { isRepeat: true }) }, now)
  return { filter, pass }
}
const piece = (text: string, offset: number, request = 'a'): LiveNote => [
  'text.delta',
  { text, offset, request, iteration: 1 },
]
const textOf = (notes: readonly LiveNote[]) => notes.map(([, { text }]) => text).join('')

describe('text (LIVE-FILTER-1)', () => {
  test('text is passed on once if it comes twice, and of a longer repetition only the new part is passed on', () => {
    const { pass } = opened()
    const got = [piece('Hello ', 0), piece('world', 6), piece('world', 6), piece('ld!', 9)].flatMap((note) =>
      pass([note]),
    )
    expect(textOf(got)).toBe('Hello world!')
    expect(pass([piece('Hello world!', 0)], true)).toEqual([])
    expect(pass([piece('Hello world! And', 0)], true)).toEqual([piece(' And', 12)])
  })

  test('the text of a repeated call begins anew', () => {
    const { pass } = opened()
    expect(
      textOf([...pass([piece('Hello', 0)]), ...pass([piece('Good', 0, 'b')]), ...pass([piece('bye', 4, 'b')])]),
    ).toBe('HelloGoodbye')
  })

  test('text without its beginning waits for the repetition, and passes when none comes', () => {
    const { pass } = opened()
    expect(pass([piece('world', 6)])).toEqual([])
    expect(pass([piece('Hello world', 0)], true)).toEqual([piece('Hello world', 0)])
    expect(opened().pass([piece('world', 6)], false, joinedAt + 3_000)).toEqual([piece('world', 6)])
  })
})

test('a state is passed on when it differs, and never after a state of a later claim (LIVE-FILTER-2)', () => {
  const { pass } = opened()
  const state = (state: string, epoch: number): LiveNote => ['worker.stateChanged', { state, epoch }]
  expect(pass([state('working', 1), state('working', 1), state('working', 2)])).toEqual([
    state('working', 1),
    ['worker.stateChanged', { state: 'working', epoch: 2, from: 'working' }],
  ])
  expect(pass([state('waiting', 1)])).toEqual([])
  expect(pass([state('waiting', 2)])).toEqual([
    ['worker.stateChanged', { state: 'waiting', epoch: 2, from: 'working' }],
  ])
})

test('a call that a follower knows of is not sent to it again before its end is stored', () => {
  const { filter, pass } = opened()
  const started: LiveNote = ['tool.started', { toolCallId: 'c', toolName: 'look' }]
  const ended = {
    id: '1-0.0',
    type: 'tool.succeeded',
    sessionId: 's',
    workerId: 'w',
    at: 0,
    details: { toolCallId: 'c' },
  } as const
  expect(pass([started])).toEqual([started])
  expect(pass([started], true)).toEqual([])
  filter.noteStored(ended)
  expect(pass([started], true)).toEqual([started])
})
