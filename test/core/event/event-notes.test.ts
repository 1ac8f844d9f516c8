/** Events as the stream stores them. They are read as they were written, also by older and newer versions of troupe. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type EventNote, eventTypes } from '../../../src/core/event/event.ts'
import { decodeEvents, encodeEvents, endIn, mayEndRun, sessionIn } from '../../../src/core/event/event-notes.ts'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import { anyText } from '../support/any-text.ts'

const session = newId(0)
const worker = newId(0)
const about = `${session} ${worker}`

const text = fc.string()
const count = fc.nat()
const any = fc.dictionary(anyText, fc.jsonValue())
const call = { toolCallId: text, toolName: text }
/** Details of the types that have an order. */
const ordered: Readonly<Record<string, fc.Arbitrary<object>>> = {
  'session.created': fc.record(
    { kind: text, name: text, mode: fc.constant('conversation') },
    { requiredKeys: ['kind'] },
  ),
  'worker.spawned': fc.record(
    { id: text, kind: text, name: text, parent: fc.constant(worker), detached: fc.boolean() },
    { requiredKeys: ['id', 'kind', 'name', 'parent'] },
  ),
  'message.consumed': fc.record({ kind: text, from: text }, { requiredKeys: ['kind'] }),
  'model.replied': fc.record(
    { model: text, iteration: count, calls: count, inputTokens: count, outputTokens: count, finishReason: text },
    { requiredKeys: ['model', 'iteration', 'calls', 'inputTokens', 'outputTokens'] },
  ),
  'tool.started': fc.record(call),
  'tool.succeeded': fc.record({ ...call, ms: count }, { requiredKeys: ['toolCallId', 'toolName'] }),
  'tool.failed': fc.record({ ...call, ms: count }, { requiredKeys: ['toolCallId', 'toolName'] }),
}
/** Scripts write the ends of sessions. */
const told = eventTypes.filter((type) => !/^session\.(completed|failed|cancelled)$/.test(type))
const note = fc.constantFrom(...told).chain((type) => fc.tuple(fc.constant(type), ordered[type] ?? any))
const notes = fc.array(note.map((one) => one as unknown as EventNote))

describe('events', () => {
  test('events come back unchanged, each with the id, session, worker and time of its entry', () => {
    fc.assert(
      fc.property(notes, (written) => {
        const read = decodeEvents('1700000000123-4', about, encodeEvents(written))
        expect(read.map(({ type }) => type)).toEqual(written.map(([type]) => type))
        expect(read.map((event) => event.details)).toEqual(
          JSON.parse(JSON.stringify(written.map(([, details]) => details))),
        )
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

  test('events of the most frequent types are written without the names of their details', () => {
    const spawned = { id: 'c', kind: 'reader', name: 'reader', parent: worker }
    const written: EventNote[] = [
      ['run.started'],
      ['worker.spawned', spawned],
      ['worker.spawned', { ...spawned, detached: true }],
      ['session.created', { kind: 'a', mode: 'conversation' }],
      ['model.replied', { model: 'm', iteration: 1, calls: 0, inputTokens: 5, outputTokens: 6 }],
    ]
    const stored =
      '[["run.started"],["worker.spawned","c","reader","reader"],["worker.spawned","c","reader","reader",true],' +
      '["session.created","a",null,"conversation"],["model.replied","m",1,0,5,6]]'
    expect(encodeEvents(written)).toBe(stored)
    expect(decodeEvents('1-0', about, stored).map(({ details }) => details)).toEqual(
      written.map(([, details]) => details ?? {}),
    )
  })

  test('further details of a newer version are ignored, and details that an older version did not write are missing (EVENT-1)', () => {
    const [newer, older] = decodeEvents('1-0', about, '[["tool.succeeded","c","t",5,"more"],["tool.failed","c"]]')
    expect(newer?.details).toEqual({ toolCallId: 'c', toolName: 't', ms: 5 })
    expect(older?.details).toEqual({ toolCallId: 'c' })
  })

  test('the subject of an entry without a worker is the root', () => {
    expect(decodeEvents('1-0', session, '[["run.started"]]')).toEqual([
      { id: '1-0.0', type: 'run.started', sessionId: session, workerId: rootIdOf(session), at: 1, details: {} },
    ])
    expect([sessionIn(session), sessionIn(about)]).toEqual([session, session])
  })

  test('events of one stream entry have different numbers', () => {
    expect(decodeEvents('1-0', session, '[["run.started"],["run.completed"]]', 2).map(({ id }) => id)).toEqual([
      '1-0.200000',
      '1-0.200001',
    ])
  })

  test('the end of a session is an event without details that names the position of the result', () => {
    const read = decodeEvents('5-0', session, '[["worker.failed",{"run":1}],["session.failed",12]]')
    expect(read.map(({ type }) => type)).toEqual(['worker.failed', 'session.failed'])
    expect(read[0]?.ended).toBeUndefined()
    expect(read[1]).toMatchObject({ id: '5-0.1', details: {}, ended: { status: 'failed', position: 12 } })
    expect(decodeEvents('5-0', session, '[["session.cancelled"]]')[0]?.ended).toEqual({
      status: 'cancelled',
      position: null,
    })
  })

  test('a type that is not known here is passed on', () => {
    const [event] = decodeEvents('5-0', session, '[["worker.promoted",{"to":"boss"}]]')
    expect(event).toMatchObject({ type: 'worker.promoted', details: { to: 'boss' } })
  })

  test.each(['', '{}', 'nothing', '[1]', '[null]'])(
    'a text that is not an array of notes is refused: %j',
    (damaged) => {
      expect(() => decodeEvents('5-0', session, damaged)).toThrow(/JSON|iterable|function/)
    },
  )
})

describe('the end of a run, seen without decoding', () => {
  test.each(['run.completed', 'worker.failed', 'worker.cancelled', 'session.completed', 'session.failed'])(
    '%s may end a run',
    (type) => expect(mayEndRun(JSON.stringify([['model.replied'], [type]]))).toBe(true),
  )

  test('other events do not end a run', () => {
    expect(mayEndRun('[["run.started"],["model.replied","m",1,1]]')).toBe(false)
    expect(mayEndRun('[["session.cancelRequested",{"reason":"r"}]]')).toBe(false)
  })
})

describe('the end of a session', () => {
  const failure = { code: 'tool_failed', message: 'm' }

  test.each([
    ['[["run.completed",{"value":null}],["session.completed",4]]', 4, { status: 'completed', run: 1, value: null }],
    [
      '[["run.completed",{"run":3,"value":[7]}],["session.completed",9]]',
      9,
      { status: 'completed', run: 3, value: [7] },
    ],
    ['[["run.completed"],["session.completed",4]]', 4, null],
    ['[["session.completed",4]]', 4, null],
    ['[["session.completed"]]', null, null],
    // The session is closed: the run's earlier report is not its result.
    ['[["run.completed",{"value":1}],["session.completed"]]', null, null],
    [
      '[["worker.failed",{"run":2,"failure":{"code":"tool_failed","message":"m"}}],["session.failed",5]]',
      5,
      { status: 'failed', run: 2, failure },
    ],
    ['[["run.completed",{"value":1}],["session.failed",5]]', 5, null],
    ['[["worker.cancelled"],["session.cancelled"]]', null, null],
  ])('the event %s has the status of the end, and the result if it is small', (notes, position, result) => {
    const status = /session\.([a-z]+)/.exec(notes)?.[1]
    expect(endIn(notes)).toEqual({ status, position, result })
  })

  test.each([
    '[]',
    '[["run.completed",{"value":1}]]',
    '[["session.cancelRequested",{"reason":"\\"session.completed\\""}]]',
    '[["session.cancelRequested",{"reason":"session.completed"}]]',
  ])('the event %s does not hold the result of the session', (notes) => expect(endIn(notes)).toBeNull())
})
