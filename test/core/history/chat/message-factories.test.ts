/** Messages made by hand are messages like any other. */
import { expect, test } from 'vitest'
import {
  type ChatMessage,
  dataUriOf,
  firstTextOf,
  isSummary,
  isSystem,
  isToolResult,
  textOf,
  timestampOf,
} from '../../../../src/core/history/chat/chat-message.ts'
import { chatMessageSchema } from '../../../../src/core/history/chat/chat-schema.ts'
import { chat } from '../../../../src/core/history/chat/message-factories.ts'
import { ConversationHistory } from '../../../../src/core/history/history.ts'

const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} } as const
const made = [
  chat.system('Be short.', { id: 's', at: 1 }),
  chat.user('What is there?', { id: 'u', at: 2 }),
  chat.assistant([call], { id: 'a', at: 3, model: 'test/m' }),
  chat.tool('c1', { files: 3 }, { id: 't', at: 4, toolName: 'look' }),
  chat.assistant('Three files.', { id: 'b', at: 5, model: 'test/m' }),
]

test('each message that the factories make fits the schema of stored messages and loses nothing by it', () => {
  for (const message of made) expect(chatMessageSchema.parse(JSON.parse(JSON.stringify(message)))).toEqual(message)
})

test('a message other than a result names no call (FACTORY-1) [0.4]', () => {
  const named = made.filter((message) => 'toolCallId' in message || 'name' in message)
  expect(named.map(({ type }) => type)).toEqual(['toolResult'])
  expect(made.flatMap((message) => (message.type === 'assistant' ? [message.finishReason] : []))).toEqual([
    'tool-calls',
    'stop',
  ])
})

test('a history accepts the messages that the factories make', () => {
  const history = new ConversationHistory()
  for (const message of made) history.push(message)
  expect(history.messages).toEqual(made)
})

test('a message that is made without an id has its position in the conversation (FACTORY-3)', () => {
  const history = ConversationHistory.from([
    chat.system('Be short.'),
    chat.user('Hello', { id: 'mine', name: 'alice' }),
  ])
  history.pushAssistantMessage('Hi')
  expect(history.messages.map(({ id }) => id)).toEqual(['0', 'mine', '2'])
  expect(history.get(1)).toMatchObject({ name: 'alice' })
  expect(JSON.stringify(history.prompt())).not.toContain('alice')
})

test('helpers tell the types of messages apart, and say when a message was said [4.1]', () => {
  const summary = { type: 'summary', id: 'm', at: 5, text: 'before', messagesCompacted: 2 } as const
  const all: ChatMessage[] = [...made, summary]
  expect(all.filter(isSystem)).toEqual([made[0]])
  expect(all.filter(isToolResult)).toEqual([made[3]])
  expect(all.filter(isSummary)).toEqual([summary])
  expect(timestampOf({ at: Date.UTC(2026, 2, 12, 10) })).toBe('2026-03-12T10:00:00.000Z')
  expect([0, Number.NaN, 1e300].map((at) => timestampOf({ at }))).toEqual([null, null, null])
})

test('blocks have a first text, all texts, and addresses for pages [4.11]', () => {
  const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
  const { content } = chat.user([
    { type: 'text', text: ' \n' },
    image,
    { type: 'text', text: ' see\n' },
    { type: 'text', text: 'it' },
  ])
  expect([firstTextOf(content), firstTextOf([image])]).toEqual(['see', undefined])
  expect(textOf(content)).toBe(' \n\n see\n\nit')
  expect(dataUriOf(image)).toBe('data:image/png;base64,AAAA')
  expect(dataUriOf({ type: 'audio', mediaType: 'audio/wav', url: 'https://a.example/b.wav' })).toBe(
    'https://a.example/b.wav',
  )
})

test.each([
  { type: 'text', text: 'see' },
  { type: 'image', mediaType: 'image/png', data: 'AAAA' },
  { type: 'audio', mediaType: 'audio/wav', url: 'https://a.example/b.wav' },
] as const)('a block may be $type, and fits the schema of stored messages [4.11]', (block) => {
  const said = chat.user([block])
  expect(chatMessageSchema.parse(JSON.parse(JSON.stringify(said)))).toEqual(said)
})
