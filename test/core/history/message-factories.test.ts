/** Messages made by hand are messages like any other. */
import { expect, test } from 'vitest'
import { chatMessageSchema } from '../../../src/core/history/chat-message.ts'
import { ConversationHistory } from '../../../src/core/history/history.ts'
import { chat } from '../../../src/core/history/message-factories.ts'

const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} } as const
const made = [
  chat.system({ id: 's', at: 1 }, 'Be short.'),
  chat.user({ id: 'u', at: 2 }, 'What is there?'),
  chat.assistant({ id: 'a', at: 3 }, 'test/m', [call]),
  chat.tool({ id: 't', at: 4 }, call, { files: 3 }),
  chat.assistant({ id: 'b', at: 5 }, 'test/m', 'Three files.'),
]

test('each fits the schema of stored messages and loses nothing by it', () => {
  for (const message of made) expect(chatMessageSchema.parse(JSON.parse(JSON.stringify(message)))).toEqual(message)
})

test('only a result names a call (FACTORY-1)', () => {
  const named = made.filter((message) => 'toolCallId' in message || 'name' in message)
  expect(named.map(({ type }) => type)).toEqual(['toolResult'])
  expect(made.flatMap((message) => (message.type === 'assistant' ? [message.finishReason] : []))).toEqual([
    'tool-calls',
    'stop',
  ])
})

test('a history accepts them', () => {
  const history = new ConversationHistory()
  for (const message of made) history.push(message)
  expect(history.messages).toEqual(made)
})
