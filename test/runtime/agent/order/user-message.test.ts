/** How an input becomes a message of an agent's conversation. Any input can be recorded and sent to a model. */
import { describe, expect, test } from 'vitest'
import type { InputMessage } from '../../../../src/core/worker/message/message.ts'
import { userMessage } from '../../../../src/runtime/agent/order/user-message.ts'

const entryOf = (value: unknown, more: Partial<InputMessage> = {}) =>
  userMessage('m0', { kind: 'input', id: 'i', from: null, value, ...more })

const textOf = (value: unknown) => {
  const { content } = entryOf(value) as unknown as { content: { type: string; text: string }[] }
  expect(content).toEqual([{ type: 'text', text: expect.any(String) }])
  return content[0]?.text ?? ''
}

describe('a message', () => {
  test('a list of content blocks as a message keeps these blocks', () => {
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
    ]
    expect(entryOf({ content })).toEqual({ id: 'm0', content })
  })

  test.each([
    ['no blocks', { content: [] }],
    ['blocks that no model takes', { content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'b', input: {} }] }],
    ['blocks and more', { content: [{ type: 'text', text: 'hello' }], role: 'system' }],
    ['a value', [1, { a: null }]],
  ])('a message that is %s becomes its JSON text', (_, value) => {
    expect(textOf(value)).toBe(JSON.stringify(value))
  })

  test('a text as a message stays as it is, except for half characters, which providers refuse', () => {
    expect(textOf('hello\n')).toBe('hello\n')
    expect(textOf('half \ud83d of a pair')).toBe('half \ufffd of a pair')
  })

  test('a message that is nested too deeply to be written breaks no turn', () => {
    const nested: unknown = JSON.parse('['.repeat(20_000) + ']'.repeat(20_000))
    expect(textOf(nested)).toBe('(a message that is nested too deeply to be written as text)')
  })

  test('a message keeps its sender and the facts that came with it', () => {
    const facts = { total: 5 }
    expect(entryOf('hello', { from: 'worker', facts })).toMatchObject({ from: 'worker', facts })
    expect(entryOf('hello', { facts: {} })).not.toHaveProperty('facts')
  })
})
