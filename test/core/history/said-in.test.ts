/** The conversation that a history holds. */
import { expect, test } from 'vitest'
import { chat } from '../../../src/core/history/chat/message-factories.ts'
import { decodeEntry, entryJson } from '../../../src/core/history/entry.ts'
import { saidIn } from '../../../src/core/history/said-in.ts'

const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} } as const
const entry = (type: Parameters<typeof entryJson>[0], facts: object) =>
  decodeEntry(entryJson(type, 1, 2, 5, facts as Record<string, unknown>))

test('the messages of a history exclude nudges, ends of runs and results that a retry took back', () => {
  const entries = [
    entry('user', { id: 'm0', content: [{ type: 'text', text: 'hi' }] }),
    entry('blank', { model: 'a/b', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 0 } }),
    entry('user', { id: 'm2', nudge: true, content: [{ type: 'text', text: 'Go on.' }] }),
    entry('assistant', { ...chat.assistant([call], { id: 'm3' }), type: undefined, at: undefined }),
    entry('toolResult', {
      ...chat.tool('c1', 'first', { id: 'm4', toolName: 'look' }),
      type: undefined,
      at: undefined,
    }),
    entry('failed', {
      failure: { code: 'tool_failed', message: 'x', origin: 'tool', at: 1, attempt: 1, retryable: false },
    }),
    entry('retried', { reopened: ['c1'] }),
    entry('toolResult', {
      ...chat.tool('c1', 'second', { id: 'm7', toolName: 'look' }),
      type: undefined,
      at: undefined,
    }),
    decodeEntry('not an entry'),
  ]
  expect(saidIn(entries)).toMatchObject([{ id: 'm0' }, { id: 'm3' }, { id: 'm7', output: { value: 'second' } }])
  expect(Object.keys(saidIn(entries)[0] ?? {}).sort()).toEqual(['at', 'content', 'id', 'type'])
})

test('messages of a turn that was undone are left out, even if a later reply uses the id of its call again', () => {
  const turn = (from: number, text: string) => [
    entry('user', { id: `m${from}`, content: [{ type: 'text', text }] }),
    entry('assistant', { ...chat.assistant([call], { id: `m${from + 1}` }), type: undefined, at: undefined }),
    entry('toolResult', {
      ...chat.tool('c1', `seen for ${text}`, { id: `m${from + 2}`, toolName: 'look' }),
      type: undefined,
      at: undefined,
    }),
  ]
  const undone = [...turn(0, 'first'), entry('undone', { from: 0 })]
  expect(saidIn(undone)).toEqual([])
  expect(saidIn([...undone, entry('redone', {})])).toHaveLength(3)
  expect(saidIn([...undone, ...turn(4, 'second')]).map(({ id }) => id)).toEqual(['m4', 'm5', 'm6'])
})

test('a retry takes no result of an earlier reply back, even if its call has the same id', () => {
  const reply = (id: string) =>
    entry('assistant', { ...chat.assistant([call], { id }), type: undefined, at: undefined })
  const result = (id: string) =>
    entry('toolResult', { ...chat.tool('c1', id, { id, toolName: 'look' }), type: undefined, at: undefined })
  const entries = [reply('m0'), result('m1'), reply('m2'), result('m3'), entry('retried', { reopened: ['c1'] })]
  expect(saidIn(entries).map(({ id }) => id)).toEqual(['m0', 'm1', 'm2'])
})
