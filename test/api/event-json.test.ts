/** The server makes the text of an event once for all callers that get the same one, and gives no caller the text of another event. */
import { expect, test } from 'vitest'
import { eventJson } from '../../src/api/stream/event-json.ts'
import type { TroupeEvent } from '../../src/core/event/event.ts'

const details = { level: 'info', message: 'a line' } as const
const event = { id: '1-0.0', type: 'worker.logged', sessionId: 's', workerId: 'w', at: 1, transient: true, details }
const text = (more: object) => JSON.parse(eventJson({ ...event, ...more } as TroupeEvent)) as object

test('callers get the same text of an event, and their own text where it differs for them', () => {
  expect(text({})).toEqual(event)
  for (const more of [{ id: '2-0.0' }, { workerId: 'x' }, { sessionId: 't' }, { at: 2 }, { type: 'tool.progress' }])
    expect(text(more)).toEqual({ ...event, ...more })
  expect(text({ details: { ...details, message: 'another' } })).toMatchObject({ details: { message: 'another' } })
})

test('an event is written once, however many callers there are', () => {
  let reads = 0
  const counted = { toJSON: () => void reads++ }
  for (let caller = 0; caller < 200; caller++) eventJson({ ...event, details: counted } as unknown as TroupeEvent)
  expect(reads).toBe(1)
})
