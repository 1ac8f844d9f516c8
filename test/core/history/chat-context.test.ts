/** A conversation in the hands of a program: messages in order, and the action that comes next. */
import { describe, expect, test } from 'vitest'
import { chat } from '../../../src/core/history/chat/message-factories.ts'
import { type Action, ChatContext, isSameAction } from '../../../src/core/history/chat-context.ts'

describe('a chat context', () => {
  test('a chat context begins empty, with one system message, or with a conversation, and continues [0.1]', () => {
    const said = [chat.user('Hi', { id: 'u' }), chat.assistant('Hello', { id: 'a' })]
    expect(ChatContext.create().messages).toEqual([])
    expect(ChatContext.withSystem('Be short.').messages).toMatchObject([{ type: 'system', text: 'Be short.' }])
    const context = ChatContext.create(said)
    expect(context.messages).toEqual(said)
    for (const one of [ChatContext.create(), ChatContext.withSystem('x'), context]) expect(one.action).toBe('continue')
  })

  test('a chat context knows its last message and its text, or that there is none [0.2, 0.3]', () => {
    const context = ChatContext.create()
    expect([context.last, context.lastContent]).toEqual([undefined, undefined])
    context.push(chat.user('Hi'))
    context.extend([chat.assistant('Hello'), chat.tool('call_123', { data: 1 })])
    expect(context.last).toMatchObject({ toolCallId: 'call_123' })
    expect(context.lastContent).toBe('{"data":1}')
  })

  test('a chat context gives one JSON value for each message, none of which has its action [0.5]', () => {
    const context = ChatContext.withSystem('Be short.')
    context.push(chat.user('Hi'))
    context.setAction({ callTool: 'look' })
    const values = context.toVec()
    expect(JSON.parse(JSON.stringify(values))).toEqual(values)
    expect(values).toHaveLength(2)
    expect(JSON.stringify(values)).not.toContain('look')
    context.push(chat.user('more'))
    expect(values).toHaveLength(2)
  })

  test('a chat context refuses what is no message, and adds nothing', () => {
    const context = ChatContext.create()
    expect(() => context.push({ role: 'user', content: 'hi' } as never)).toThrow(/^message 0 has no type of troupe/)
    expect(context.messages).toEqual([])
  })
})

test.each<[Action, Action, boolean]>([
  ['continue', 'continue', true],
  ['continue', 'stop', false],
  [{ callTool: 'a' }, { callTool: 'a' }, true],
  [{ callTool: 'a' }, { callTool: 'b' }, false],
  [{ callTool: 'stop' }, 'stop', false],
])('action %j is %j: %s [0.6]', (one, other, same) => {
  expect(isSameAction(one, other)).toBe(same)
  expect(isSameAction(other, one)).toBe(same)
})
