/** Changes of state and of messages, made of events alone. */
import { expect, test } from 'vitest'
import { ContextUpdates } from '../../../src/client/event/context-updates.ts'
import type { RawEvent } from '../../../src/core/event/event.ts'

const event = (type: RawEvent['type'], details: object = {}): RawEvent => ({
  id: '1-0.0',
  sessionId: 's',
  workerId: 'w',
  at: 7,
  type,
  details: details as RawEvent['details'],
})
const head = { contextId: 'w', timestamp: 7, eventId: '1-0.0' }

test('an update names the state before only if it changes it (UPDATES-2)', () => {
  const updates = new ContextUpdates()
  const state = (run: string) => event('worker.stateChanged', { state: 'working', run })
  expect(updates.of(state('ProcessingUserMessage'))).toEqual([
    { ...head, currentState: 'ProcessingUserMessage', previousState: 'Idle' },
  ])
  expect(updates.of(event('run.started'))).toEqual([])
  expect(updates.of(state('of a newer version'))).toEqual([])
  expect(updates.of(event('worker.failed'))).toEqual([
    { ...head, currentState: 'Failed', previousState: 'ProcessingUserMessage' },
  ])
})

test('pieces of a reply accumulate by sort, and a call that is made again begins anew', () => {
  const updates = new ContextUpdates()
  const piece = (sort: 'text' | 'reasoning', text: string, request: string) =>
    updates.of(event(`${sort}.delta`, { text, request })).map(({ messageUpdate }) => messageUpdate)
  const delta = (part: string, text: string, accumulated: string, messageId: string) => ({
    type: 'contentDelta',
    messageId,
    part,
    delta: text,
    accumulated,
  })
  expect(piece('reasoning', 'hm', 'a')).toEqual([
    { type: 'created', role: 'assistant', messageId: 'a' },
    delta('reasoning', 'hm', 'hm', 'a'),
  ])
  expect(piece('text', 'Hel', 'a')).toEqual([delta('text', 'Hel', 'Hel', 'a')])
  expect(piece('text', 'lo', 'a')).toEqual([delta('text', 'lo', 'Hello', 'a')])
  expect(piece('text', 'Good', 'b')).toEqual([
    { type: 'created', role: 'assistant', messageId: 'b' },
    delta('text', 'Good', 'Good', 'b'),
  ])
})

test('an approval is pending until it is decided, and an ask of another type is no state of a call', () => {
  const updates = new ContextUpdates()
  const told = (type: RawEvent['type'], details: object) =>
    updates.of(event(type, details)).map(({ messageUpdate, currentState }) => [messageUpdate, currentState])
  expect(told('ask.opened', { id: 'q', sort: 'question' })).toEqual([])
  expect(told('ask.answered', { id: 'q' })).toEqual([])
  expect(told('ask.opened', { id: 'x', sort: 'approval' })).toEqual([
    [{ type: 'statusChanged', id: 'x', status: 'pending' }, 'AwaitingToolApproval'],
  ])
  expect(told('ask.answered', { id: 'x', decision: 'deny' })).toEqual([
    [{ type: 'statusChanged', id: 'x', status: 'denied' }, 'AwaitingToolApproval'],
  ])
})
