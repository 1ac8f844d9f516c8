/** The size of a conversation: the bytes that a model reads, and a quarter of them as tokens (requirements 4.2, 4.3). */
import { describe, expect, test } from 'vitest'
import type {
  AssistantBlock,
  ChatMessage,
  ToolOutput,
  UserBlock,
} from '../../../../src/core/history/chat/chat-message.ts'
import { ConversationHistory } from '../../../../src/core/history/history.ts'
import { addedTokens, estimatedBytes, estimatedTokens } from '../../../../src/core/history/prompt/estimate.ts'

const stamp = { id: 'an id is not counted', at: 1 }
const system = (text: string): ChatMessage => ({ type: 'system', ...stamp, text })
const user = (...content: UserBlock[]): ChatMessage => ({ type: 'user', ...stamp, content })
const assistant = (...content: AssistantBlock[]): ChatMessage => ({
  type: 'assistant',
  ...stamp,
  model: 'not/counted',
  content,
  finishReason: 'stop',
  usage: { inputTokens: 1, outputTokens: 1 },
})
const result = (output: ToolOutput): ChatMessage => ({
  type: 'toolResult',
  ...stamp,
  toolCallId: 'not counted',
  toolName: 'look',
  status: 'ok',
  output,
  facts: { is: 'not counted' },
})
const call = { type: 'tool-call', toolCallId: 'not counted', toolName: 'look' } as const

describe('bytes', () => {
  test.each<[string, ChatMessage, number]>([
    ['a system message: its text', system('four'), 4],
    ['a summary: its text', { type: 'summary', ...stamp, text: 'four', messagesCompacted: 9 }, 4],
    ['an error: its message', { type: 'error', ...stamp, message: 'three' }, 5],
    ['a user message: all its texts', user({ type: 'text', text: 'ab' }, { type: 'text', text: 'cde' }), 5],
    ['UTF-8 and not UTF-16', user({ type: 'text', text: 'é語😀' }), 9],
    ['an image: its base64', user({ type: 'image', mediaType: 'image/png', data: 'AAAA' }), 4],
    ['an image elsewhere: its address', user({ type: 'image', mediaType: 'image/png', url: 'x://y' }), 5],
    ['audio: its base64', user({ type: 'audio', mediaType: 'audio/wav', data: 'AA==' }), 4],
    ['a file: its address', user({ type: 'file', mediaType: 'text/plain', url: 'file:///a' }), 9],
    ['a block of a type that is unknown: nothing', user({ type: 'hologram' } as never), 0],
    ['a call: name and arguments', assistant({ ...call, input: { a: 1 } }), 4 + 7],
    ['a call that is no JSON: what was written', assistant({ ...call, input: null, inputText: '{"a' }), 4 + 3],
    ['a result: name and text', result({ type: 'text', value: 'done' }), 4 + 4],
    ['an error of a tool: name and text', result({ type: 'error-text', value: 'no' }), 4 + 2],
    ['a result as JSON', result({ type: 'json', value: { n: 1 } }), 4 + 7],
  ])('%s', (_, message, bytes) => {
    expect(estimatedBytes(message)).toBe(bytes)
  })

  test('the bytes of reasoning are its text and its signed or encrypted data, without ids [4.2]', () => {
    const providerOptions = { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'blob' } }
    expect(estimatedBytes(assistant({ type: 'reasoning', text: 'plan', providerOptions }))).toBe(8)
    expect(estimatedBytes(assistant({ type: 'text', text: 'plan', providerOptions }))).toBe(4)
    const odd = { some: { cached: true, count: 7, nothing: null, list: [{ deep: 'blob' }, 'blob'] } }
    expect(estimatedBytes(assistant({ type: 'reasoning', text: 'plan', providerOptions: odd }))).toBe(12)
  })
})

describe('tokens', () => {
  const tools = [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }]

  test('an estimate counts 87 bytes as 21 tokens [4.3]', () => {
    expect(estimatedTokens([system('x'.repeat(80)), user({ type: 'text', text: '1234567' })], [])).toBe(21)
  })

  test('an estimate divides the sum, not its parts', () => {
    expect(estimatedTokens([system('xx'), system('xx')], [])).toBe(1)
  })

  test('tools count with name, description and schema [4.3]', () => {
    expect(estimatedTokens([], tools)).toBe(Math.floor((4 + 6 + '{"type":"object"}'.length) / 4))
    expect(estimatedTokens([system('x')], tools)).toBe(7)
  })

  test('the tokens of a history are the sum of the tokens of its messages', () => {
    const history = ConversationHistory.from([system('x'.repeat(80))])
    expect([history.estimatedTokens(), history.estimatedTokens(tools)]).toEqual([20, 26])
  })
})

test.each([
  ['a small image', 400, 100],
  ['a large image', 1_000_000, 1_600],
])('%s adds to a prompt what its bytes are, and no more than any image', (_, chars, tokens) => {
  expect(addedTokens(user({ type: 'image', mediaType: 'image/png', data: 'A'.repeat(chars) }))).toBe(tokens)
})
