/** Conversations of other origin, put in order. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readChatMessage } from '../../../src/core/history/chat/chat-codec.ts'
import { type ChatMessage, toolCallsOf } from '../../../src/core/history/chat/chat-message.ts'
import { chat } from '../../../src/core/history/chat/message-factories.ts'
import { contentOf } from '../../../src/core/history/conversation-entry.ts'
import { pairedMessages } from '../../../src/core/history/paired.ts'
import { happenings } from '../support/any-conversation.ts'

const head = (id: string) => ({ id, at: 5 })
const calls = (id: string, ...ids: string[]) =>
  chat.assistant(
    ids.map((toolCallId) => ({ type: 'tool-call' as const, toolCallId, toolName: 'look', input: {} })),
    head(id),
  )
const result = (toolCallId: string, text: string) => chat.tool(toolCallId, text, { toolName: 'look' })

/** A short form of the messages: the type, the call, and what a result says. */
const shape = (messages: readonly ChatMessage[]) =>
  messages.map((message) => {
    if (message.type === 'assistant')
      return `calls ${toolCallsOf(message)
        .map(({ toolCallId }) => toolCallId)
        .join()}`
    if (message.type === 'toolResult') return `${message.toolCallId} ${message.status}: ${contentOf(message)}`
    return message.type === 'user'
      ? `user: ${message.content.map((block) => 'text' in block && block.text).join()}`
      : ''
  })

const cases: readonly [claim: string, messages: readonly ChatMessage[], shape: readonly string[]][] = [
  [
    'a call that nobody answered has a result that says so',
    [calls('a', '1', '2'), result('2', 'two'), chat.user('hi', head('u'))],
    ['calls 1,2', '1 cancelled: This call was cancelled: it did not finish.', '2 ok: two', 'user: hi'],
  ],
  [
    'results stand behind their reply, in the order of its calls',
    [calls('a', '1', '2'), result('2', 'two'), chat.user('hi', head('u')), result('1', 'one')],
    ['calls 1,2', '1 ok: one', '2 ok: two', 'user: hi'],
  ],
  [
    'a result that belongs to no call becomes the text of a user',
    [result('1', 'one'), calls('a', '2'), result('2', 'two'), result('2', '')],
    [
      'user: [result of look, without its call] one',
      'calls 2',
      '2 ok: two',
      'user: [result of look, without its call] (empty)',
    ],
  ],
  [
    'ids of calls that come again are replaced, and each result stays with its call',
    [calls('a', '1', '1'), result('1', 'one'), result('1', 'two'), calls('b', '1'), result('1', 'three')],
    ['calls 1,1-2', '1 ok: one', '1-2 ok: two', 'calls 1-3', '1-3 ok: three'],
  ],
  ['a call without an id gets one', [calls('a', ''), result('', 'one')], ['calls call', 'call ok: one']],
]

describe('a conversation in order', () => {
  test.each(cases)('%s (PAIRED-1 to PAIRED-3)', (_claim, messages, expected) => {
    expect(shape(pairedMessages(messages).messages)).toEqual(expected)
  })

  test('ids that look like positions are positions, and others stay unless they come twice', () => {
    const messages = [head('m7'), head('msg_1'), head(''), head('msg_1')].map((one) => chat.user('hi', one))
    expect(pairedMessages(messages).messages.map(({ id }) => id)).toEqual(['m0', 'msg_1', 'm2', 'msg_1-2'])
  })

  test('a call has exactly one result, behind its reply, whatever happened; ids are unique, and a second pass changes nothing', () => {
    fc.assert(
      fc.property(happenings, (all) => {
        const given = all.flatMap((one) => (one.type === 'push' ? [one.message] : []))
        const { messages, repairs } = pairedMessages(given)
        const expected = messages.flatMap((message) =>
          message.type === 'assistant' ? toolCallsOf(message).map(({ toolCallId }) => toolCallId) : [],
        )
        const results = messages.flatMap((message) => (message.type === 'toolResult' ? [message.toolCallId] : []))
        expect(results).toEqual(expected)
        expect(new Set(expected).size).toBe(expected.length)
        expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length)
        expect(messages.length).toBe(given.length + repairs.unanswered)
        for (const message of messages) expect(readChatMessage(message)).not.toBeNull()
        expect(pairedMessages(messages)).toEqual({ messages, repairs: { unanswered: 0, orphans: 0, renamedCalls: 0 } })
      }),
    )
  })
})
