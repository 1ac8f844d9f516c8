/** Events and entries: what is written is what is read, also by an older or newer troupe. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { completedEntry, type Entry, entryJson, entryVersion } from '../../src/core/entry.ts'
import {
  decodeEvents,
  type EventNote,
  type EventType,
  encodeEvents,
  endedOf,
  eventTypes,
  isEventBefore,
  isEventId,
  mayEndRun,
  transientTypes,
} from '../../src/core/event.ts'
import { newId, rootIdOf } from '../../src/core/ids.ts'
import { anyText } from './support/any-text.ts'

const session = newId(0)
const details = fc.dictionary(anyText, fc.jsonValue())
const notes = fc.array(
  // Whatever is written comes back, also what no type says.
  fc.tuple(fc.constantFrom(...eventTypes), details).map((note) => note as unknown as EventNote),
)

describe('events', () => {
  test('come back as they went, each with the id, session, worker and moment of its entry', () => {
    fc.assert(
      fc.property(notes, (written) => {
        const worker = newId(0)
        const read = decodeEvents('1700000000123-4', { session, worker, events: encodeEvents(written) })
        expect(read.map(({ type }) => type)).toEqual(written.map(([type]) => type))
        expect(read.map((event) => event.details)).toEqual(JSON.parse(JSON.stringify(written.map((note) => note[1]))))
        for (const [index, event] of read.entries())
          expect(event).toMatchObject({
            id: `1700000000123-4.${index}`,
            sessionId: session,
            workerId: worker,
            at: 1_700_000_000_123,
          })
      }),
    )
  })

  test('an entry without a worker speaks of the root', () => {
    expect(decodeEvents('1-0', { session, events: '[["run.started"]]' })).toEqual([
      { id: '1-0.0', type: 'run.started', sessionId: session, workerId: rootIdOf(session), at: 1, details: {} },
    ])
  })

  test('the end of a session is the last event of its entry, and says where its result is', () => {
    const fields = { session, events: '[["run.completed"]]', ended: 'failed 12', result: '{"type":"failed"}' }
    const read = decodeEvents('5-0', fields)
    expect(read.map(({ type }) => type)).toEqual(['run.completed', 'session.failed'])
    expect(read[1]?.ended).toEqual({ status: 'failed', position: 12 })
    expect(read[0]?.ended).toBeUndefined()
    const head = { sessionId: session, workerId: rootIdOf(session), at: 5, details: {} }
    expect(read[1]).toMatchObject({ id: '5-0.1', ...head })
    expect(decodeEvents('5-0', { session, ended: 'completed 4' })[0]).toEqual({
      id: '5-0.0',
      ...head,
      type: 'run.completed',
    })
    expect(endedOf('failed 12', fields)).toEqual({ status: 'failed', position: 12, entryJson: '{"type":"failed"}' })
    expect(endedOf('cancelled', {})).toEqual({ status: 'cancelled', position: null, entryJson: null })
  })

  test.each([
    ['completed 4', undefined, ['run.completed', 'session.completed']],
    ['completed 4', '[]', ['session.completed']],
    ['completed', undefined, ['session.completed']],
    ['failed 4', undefined, ['session.failed']],
    ['cancelled', undefined, ['session.cancelled']],
  ])('the end "%s" with the events %s is read as %j', (ended, events, types) => {
    const read = decodeEvents('5-0', { session, ended, ...(events === undefined ? {} : { events }) })
    expect(read.map(({ type }) => type)).toEqual(types)
  })

  test('an end that has no result says so', () => {
    expect(decodeEvents('5-0', { session, events: '[]', ended: 'cancelled' })).toEqual([
      expect.objectContaining({
        type: 'session.cancelled',
        ended: { status: 'cancelled', position: null },
      }),
    ])
  })

  test('a type that is not known here is passed on', () => {
    const [event] = decodeEvents('5-0', { session, events: '[["worker.promoted",{"to":"boss"}]]' })
    expect(event).toMatchObject({ type: 'worker.promoted', details: { to: 'boss' } })
  })

  test('an entry without events has none', () => {
    expect(decodeEvents('5-0', { session })).toEqual([])
  })

  test('ids tell events of one entry apart, and are in order', () => {
    const ordered = ['5-0.0', '5-0.1', '5-0', '5-1.0', '16-0.0']
    for (const [place, id] of ordered.entries())
      expect(ordered.map((other) => isEventBefore(other, id))).toEqual(ordered.map((_, index) => index < place))
  })

  test('an id is that of an event, of an entry, or a millisecond; nothing else that Redis would take or refuse', () => {
    for (const id of ['1-0', '1-0.2', '0-0', '1700000000000-12.345', '1700000000000', '0'])
      expect(isEventId(id)).toBe(true)
    for (const id of ['', 'foo', 5, null, undefined, '1-', '-', '+', '(1-0', '1-0.', '1.2', '-1-0', '1-0\n', ' 1-0'])
      expect(isEventId(id)).toBe(false)
    expect(isEventId('99999999999999999999-0')).toBe(false)
  })

  test('types are facts of the past, noun and verb; what is not stored, and an outcome that is unknown, are none', () => {
    const exceptions: readonly EventType[] = ['tool.unknown', ...transientTypes]
    for (const type of eventTypes.filter((type) => !exceptions.includes(type)))
      expect(type).toMatch(/^[a-z]+\.[a-z]+([A-Z][a-z]+)*(ed|en)$/)
    for (const type of exceptions) expect(eventTypes).toContain(type)
    expect(new Set(eventTypes).size).toBe(eventTypes.length)
  })
})

describe('what is told without being decoded', () => {
  test.each(['run.completed', 'worker.failed', 'worker.cancelled'] as const)('%s may end a run', (type) => {
    expect(mayEndRun({ session: newId(0), events: JSON.stringify([['model.replied'], [type]]) })).toBe(true)
  })

  test('the end of a session ends a run, and what only happens on the way does not', () => {
    expect(mayEndRun({ session: newId(0), ended: 'completed 4' })).toBe(true)
    expect(
      mayEndRun({ session: newId(0), events: JSON.stringify([['run.started'], ['model.replied', { calls: 1 }]]) }),
    ).toBe(false)
  })
})

describe('history entries', () => {
  test('a completed entry holds its value as it was serialised, and its head', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1 }), fc.integer({ min: 1 }), (value, run, epoch) => {
        const entry = JSON.parse(completedEntry(run, epoch, 1_000, JSON.stringify(value))) as Entry
        expect(entry).toEqual({
          type: 'completed',
          v: entryVersion,
          at: 1_000,
          run,
          epoch,
          value: JSON.parse(JSON.stringify(value)),
        })
      }),
    )
  })

  test('any other entry is its head and its facts', () => {
    expect(JSON.parse(entryJson('attemptFailed', 3, 7, 1_000, { retryMs: 5 }))).toEqual({
      type: 'attemptFailed',
      v: entryVersion,
      at: 1_000,
      run: 3,
      epoch: 7,
      retryMs: 5,
    })
  })
})
