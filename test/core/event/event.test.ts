/** Types and ids of events, and entries of a history, which are read as they were written. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type EventType, eventTypes, isEventBefore, isEventId, transientTypes } from '../../../src/core/event/event.ts'
import { completedEntry, decodeEntry, entryJson, entryVersion } from '../../../src/core/history/entry.ts'

describe('events', () => {
  test('ids distinguish the events of one entry, and are ordered', () => {
    const ordered = ['5-0.0', '5-0.1', '5-0', '5-1.0', '16-0.0']
    for (const [place, id] of ordered.entries())
      expect(ordered.map((other) => isEventBefore(other, id))).toEqual(ordered.map((_, index) => index < place))
  })

  test('an event id names an event, an entry or a millisecond, and nothing else', () => {
    for (const id of ['1-0', '1-0.2', '0-0', '1700000000000-12.345', '1700000000000', '0'])
      expect(isEventId(id)).toBe(true)
    for (const id of ['', 'foo', 5, null, undefined, '1-', '-', '+', '(1-0', '1-0.', '1.2', '-1-0', '1-0\n', ' 1-0'])
      expect(isEventId(id)).toBe(false)
    expect(isEventId('99999999999999999999-0')).toBe(false)
  })

  test('types are past-tense facts of noun and verb, except those that are not stored and the unknown outcome', () => {
    const exceptions: readonly EventType[] = ['tool.unknown', ...transientTypes]
    for (const type of eventTypes.filter((type) => !exceptions.includes(type)))
      expect(type).toMatch(/^[a-z]+\.[a-z]+([A-Z][a-z]+)*(ed|en)$/)
    for (const type of exceptions) expect(eventTypes).toContain(type)
    expect(new Set(eventTypes).size).toBe(eventTypes.length)
  })
})

const oneText = [{ type: 'text', text: 'a' }]

describe('history entries', () => {
  const number = fc.integer({ min: 1, max: 3 })

  test('a completed entry holds its head and its value as serialised', () => {
    fc.assert(
      fc.property(fc.jsonValue(), number, number, (value, run, epoch) => {
        expect(decodeEntry(completedEntry(run, epoch, 1_000, JSON.stringify(value)))).toEqual({
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

  test.each([
    { run: 1, epoch: 1 },
    { run: 1, epoch: 2 },
    { run: 3, epoch: 1 },
    { run: 3, epoch: 7 },
  ])('any other entry holds its head and its fields: %j', ({ run, epoch }) => {
    const json = entryJson('attemptFailed', run, epoch, 1_000, { retryMs: 5 })
    expect(decodeEntry(json)).toEqual({ type: 'attemptFailed', v: entryVersion, at: 1_000, run, epoch, retryMs: 5 })
  })

  test('a run or an epoch of 1 is not written into an entry (ENTRY-1)', () => {
    expect(entryJson('failed', 1, 1, 5, { failure: null })).toBe('{"type":"failed","v":1,"at":5,"failure":null}')
    expect(completedEntry(1, 1, 5, '{"run":7}')).toBe('{"type":"completed","v":1,"at":5,"value":{"run":7}}')
  })

  test('a cancelled entry holds a run of 1 too, and a missing run is unknown (ENTRY-1)', () => {
    const json = entryJson('cancelled', 1, 1, 5, {})
    expect(json).toBe('{"type":"cancelled","v":1,"at":5,"run":1,"epoch":1}')
    expect(decodeEntry('{"type":"cancelled","v":1,"at":5}')).toEqual({ type: 'cancelled', v: 1, at: 5 })
  })

  test.each([
    ['one text', [{ type: 'text', text: 'a "b"' }], '"a \\"b\\""'],
    ['an empty text', [{ type: 'text', text: '' }], '""'],
    ['nothing', [], '[]'],
    ['two texts', [...oneText, ...oneText], undefined],
    ['a text with more to it', [{ type: 'text', text: 'a', providerOptions: { x: { y: 1 } } }], undefined],
    ['a picture', [{ type: 'image', mediaType: 'image/png', url: 'https://example.org/a.png' }], undefined],
  ])('content of %s comes back unchanged', (_, content, stored = JSON.stringify(content)) => {
    const json = entryJson('user', 1, 1, 5, { id: 'm0', content })
    expect(json).toContain(`"content":${stored}`)
    expect(decodeEntry(json)).toMatchObject({ id: 'm0', content })
  })
})
