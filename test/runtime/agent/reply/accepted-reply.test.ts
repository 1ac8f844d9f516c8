/** Which replies of a model are accepted, and what is changed in one before anything refers to it. */
import { expect, test } from 'vitest'
import type { ModelReply } from '../../../../src/core/definition/model.ts'
import { chat } from '../../../../src/core/history/chat/message-factories.ts'
import { ConversationHistory } from '../../../../src/core/history/history.ts'
import { acceptReply } from '../../../../src/runtime/agent/reply/reply.ts'

const call = (toolCallId: string) => ({ type: 'tool-call', toolCallId, toolName: 'look', input: {} }) as const
const history = ConversationHistory.from([chat.user('hi'), chat.assistant([call('known')])])
const rules = { model: 'test/m', history, run: 2, iteration: 3, bytesMax: 1_000 }
const accept = (reply: Partial<ModelReply>) =>
  acceptReply(
    { content: [], finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 1 }, ...reply } as ModelReply,
    rules,
  )

test('each call of a reply gets an id that no other call has, whatever its model wrote (REPLY-1)', () => {
  const long = 'x'.repeat(129)
  const written = ['own', 'own', '', 'known', 'call-2-3-6', '', long, long]
  const { content } = accept({ content: written.map(call) })
  const ids = content.map((block) => (block.type === 'tool-call' ? block.toolCallId : ''))
  expect(ids).toEqual([
    'own',
    'call-2-3-2',
    'call-2-3-3',
    'call-2-3-4',
    'call-2-3-6',
    'call-2-3-6_',
    'call-2-3-7',
    'call-2-3-8',
  ])
  // A provider wants a long id back, and not one that it gave to two calls.
  expect(content.flatMap((block) => (block.type === 'tool-call' ? (block.givenId ?? []) : []))).toEqual([long])
})

test('a long name of a model is cut, and the model that was asked is kept beside another name', () => {
  expect(accept({ model: 'y'.repeat(1_000) })).toMatchObject({ model: 'y'.repeat(320), asked: 'test/m' })
  expect(accept({ model: 'test/m' })).not.toHaveProperty('asked')
  expect(accept({})).toMatchObject({ model: 'test/m' })
})

test.each([
  [{ finishReason: 'error' }, 'model_unavailable', 'model test/m ended its reply with an error'],
  [{ content: [{ type: 'text', text: 'é'.repeat(500) }] }, 'model_garbled', /it has 1027 bytes; a reply may have 1000/],
  [{ content: 'text' }, 'model_garbled', /^model test\/m gave a reply that cannot be used: /],
])('a reply with %j is asked for again', (reply, code, message) => {
  const accepting = () => accept(reply as unknown as ModelReply)
  expect(accepting).toThrow(message)
  expect(accepting).toThrow(expect.objectContaining({ code, retryable: true }))
})
