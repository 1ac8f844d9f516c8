/** Damaged entries of a history: readers never see an entry without its required fields. */
import { describe, expect, test } from 'vitest'
import { isAgentResult } from '../../../src/core/history/agent-result.ts'
import { decodeEntry, receivedEntry, writtenAt } from '../../../src/core/history/entry.ts'

const whole: readonly object[] = [
  { type: 'received', message: { kind: 'input' } },
  { type: 'failed', failure: { code: 'bug' } },
  { type: 'attemptFailed' },
  { type: 'attemptFailed', toolCallIds: ['c1'] },
  { type: 'toolStarted', toolCallId: 'c1' },
  { type: 'delegated', toolCallId: 'c1', spawned: [{}] },
  { type: 'asked', toolCallId: 'c1', asks: [{}] },
  { type: 'blank', usage: {} },
  { type: 'cleared', firstKept: 'm1' },
  { type: 'ordered', message: 'inbox-1', order: {} },
  { type: 'orderRefused', message: 'inbox-1' },
  { type: 'configured', message: 'inbox-1' },
  { type: 'undone', from: 0 },
  { type: 'subCallStarted', toolCallId: 'c1', id: 's1' },
  { type: 'subCall', toolCallId: 'c1', id: 's1', output: {} },
  { type: 'hooked', hook: 'prompt' },
  { type: 'hooked', hook: 'prompt', content: [{}] },
  { type: 'callsDecided', calls: [{}] },
  { type: 'completed' },
  { type: 'of a newer troupe' },
]

const broken: readonly unknown[] = [
  { type: 'received' },
  { type: 'received', message: 'input' },
  { type: 'received', message: {} },
  { type: 'failed' },
  { type: 'failed', failure: {} },
  { type: 'failed', failure: { code: 7 } },
  { type: 'attemptFailed', toolCallIds: 'c1' },
  { type: 'toolStarted' },
  { type: 'delegated', spawned: [{}] },
  { type: 'delegated', toolCallId: 'c1' },
  { type: 'delegated', toolCallId: 'c1', spawned: [{}, 7] },
  { type: 'asked', asks: [{}] },
  { type: 'asked', toolCallId: 'c1' },
  { type: 'asked', toolCallId: 'c1', asks: ['k'] },
  { type: 'blank' },
  { type: 'cleared' },
  { type: 'ordered', order: {} },
  { type: 'ordered', message: 'inbox-1' },
  { type: 'orderRefused' },
  { type: 'configured', message: 7 },
  { type: 'undone', from: '0' },
  { type: 'subCallStarted', toolCallId: 'c1' },
  { type: 'subCall', toolCallId: 'c1', id: 's1' },
  { type: 'hooked' },
  { type: 'hooked', hook: 'prompt', content: 7 },
  { type: 'hooked', hook: 'prompt', content: ['x'] },
  { type: 'callsDecided', calls: ['c1'] },
  7,
  null,
  [],
]

const stored = { type: 'hooked', hook: 'prompt', content: 'x' }

describe('an entry', () => {
  test('an entry of a hook may have a single text in place of the input', () => {
    expect(decodeEntry(JSON.stringify(stored))).toMatchObject({ ...stored, content: [{ type: 'text', text: 'x' }] })
  })

  test.each(whole)('an entry with its required fields is read: %j', (entry) => {
    expect(decodeEntry(JSON.stringify(entry))).toEqual({ run: 1, epoch: 1, ...entry })
  })

  test.each(broken)('an entry without a required field is read as an unknown type: %j', (entry) => {
    expect(decodeEntry(JSON.stringify(entry))).toEqual({ type: 'unreadable' })
  })

  test('an entry that is not JSON is read as an unknown type too', () => {
    expect(decodeEntry('{"type":"comp')).toEqual({ type: 'unreadable' })
  })

  test('an entry says when it was written, unless it is damaged', () => {
    expect([null, '{"type":"completed","at":5}', '{"type":"completed","at":"5"}', '{'].map(writtenAt)).toEqual([
      null,
      5,
      null,
      null,
    ])
  })

  test('an entry of a message holds the requests of the handler, if there are any', () => {
    const head = { type: 'received', v: 1, at: 3, run: 4, epoch: 2, message: { kind: 'input' } }
    expect(JSON.parse(receivedEntry(4, 2, 3, '{"kind":"input"}', {}))).toEqual(head)
    const asked = { sent: ['w'], timers: [{ id: 't', ms: 1 }] }
    expect(JSON.parse(receivedEntry(4, 2, 3, '{"kind":"input"}', asked))).toEqual({ ...head, ...asked })
  })
})

test("an agent's result is its text, perhaps with facts, and nothing else", () => {
  expect([{ text: 'a' }, { text: 'a', facts: {} }].map(isAgentResult)).toEqual([true, true])
  expect([null, 'a', {}, { text: 7 }, { text: 'a', more: 1 }].map(isAgentResult)).toEqual(Array(5).fill(false))
})
