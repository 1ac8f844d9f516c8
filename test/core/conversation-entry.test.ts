/** The text of any message, as somebody reads it. */
import { expect, test } from 'vitest'
import { contentOf } from '../../src/core/conversation-entry.ts'

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
})
