/** A conversation for readers: the side of each message, and its text. */
import { expect, test } from 'vitest'
import { contentOf, entriesOf } from '../../../src/core/history/conversation-entry.ts'

const stamp = { id: 'm1', at: 5 }

test('every message has a text', () => {
  const usage = { inputTokens: 1, outputTokens: 1 }
  const content = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ] as const
  const head = { toolCallId: 'c', toolName: 't', status: 'ok' } as const
  const blocks = [{ type: 'reasoning', text: 'hm' } as const, ...content]
  expect(contentOf({ type: 'system', ...stamp, text: 's' })).toBe('s')
  expect(contentOf({ type: 'summary', ...stamp, text: 's', messagesCompacted: 1 })).toBe('s')
  expect(contentOf({ type: 'error', ...stamp, message: 'e' })).toBe('e')
  expect(contentOf({ type: 'user', ...stamp, content })).toBe('a\nb')
  expect(contentOf({ type: 'assistant', ...stamp, model: 'm', content: blocks, finishReason: 'stop', usage })).toBe(
    'a\nb',
  )
  expect(contentOf({ type: 'toolResult', ...stamp, ...head, output: { type: 'text', value: 'r' } })).toBe('r')
  expect(contentOf({ type: 'toolResult', ...stamp, ...head, output: { type: 'json', value: { n: 1 } } })).toBe(
    '{"n":1}',
  )
  const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const
  const output = { type: 'content', value: [{ type: 'text', text: 'r' }, image] } as const
  expect(contentOf({ type: 'toolResult', ...stamp, ...head, output })).toBe('r\n[image (image/png, 8 B)]')
})

test('the model is one side; everything except instructions and errors is the other side', () => {
  const usage = { inputTokens: 1, outputTokens: 1 }
  const user = { type: 'user', ...stamp, content: [] } as const
  const assistant = { type: 'assistant', ...stamp, model: 'm', content: [], finishReason: 'stop', usage } as const
  const output = { type: 'text', value: 'r' } as const
  const result = { type: 'toolResult', ...stamp, toolCallId: 'c', toolName: 't', status: 'ok', output } as const
  const summary = { type: 'summary', ...stamp, text: 's', messagesCompacted: 1 } as const
  const silent = [
    { type: 'system', ...stamp, text: 's' },
    { type: 'error', ...stamp, message: 'e' },
  ] as const
  expect(entriesOf([silent[0], user, assistant, result, silent[1], summary])).toEqual([
    { user, assistant: null },
    { user: null, assistant },
    { user: { type: 'toolResults', results: [result] }, assistant: null },
    { user: summary, assistant: null },
  ])
})
