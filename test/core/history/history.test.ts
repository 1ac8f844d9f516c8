/** A conversation as a sequence: messages stay in order, and branches are independent. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InputError } from '../../../src/core/errors.ts'
import type { AssistantMessage, ChatMessage, ToolResultMessage } from '../../../src/core/history/chat/chat-message.ts'
import { ConversationHistory } from '../../../src/core/history/history.ts'
import { apply, happenings } from '../support/any-conversation.ts'

const at = 1
const system = (text: string): ChatMessage => ({ type: 'system', id: text, at, text })
const user = (text: string): ChatMessage => ({ type: 'user', id: text, at, content: [{ type: 'text', text }] })
const assistant = (id: string, ...callIds: string[]): AssistantMessage => ({
  type: 'assistant',
  id,
  at,
  model: 'a/one',
  content: callIds.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'look', input: null })),
  finishReason: 'tool-calls',
  usage: { inputTokens: 1, outputTokens: 1 },
})
const result = (toolCallId: string): ToolResultMessage => ({
  type: 'toolResult',
  id: `r-${toolCallId}`,
  at,
  toolCallId,
  toolName: 'look',
  status: 'ok',
  output: { type: 'text', value: 'seen' },
})
const idsOf = (history: ConversationHistory) => history.messages.map(({ id }) => id)
const openIds = (history: ConversationHistory) => history.openCalls().map(({ toolCallId }) => toolCallId)

describe('a sequence', () => {
  test('a sequence is empty at first, and no method throws then [0.3]', () => {
    const history = new ConversationHistory()
    expect([history.length, history.isEmpty, history.last, history.lastContent, history.get(0)]).toEqual([
      0,
      true,
      undefined,
      undefined,
      undefined,
    ])
    expect([history.messages, history.toVec(), history.getEntries(), history.openCalls(), history.prompt()]).toEqual([
      [],
      [],
      [],
      [],
      [],
    ])
  })

  test('a sequence holds the pushed messages in order', () => {
    const history = ConversationHistory.from([system('s')])
    history.push(user('a'))
    history.extend([assistant('b', 'c1'), result('c1')])
    expect(idsOf(history)).toEqual(['s', 'a', 'b', 'r-c1'])
    expect([history.length, history.isEmpty, history.last, history.get(1)]).toEqual([4, false, result('c1'), user('a')])
    expect(history.lastContent).toBe('seen')
    expect(history.lastAssistant).toBe(history.get(2))
  })

  test('a sequence shows its messages without a copy; toVec makes one', () => {
    const history = ConversationHistory.from([user('a')])
    const [view, list] = [history.messages, history.toVec()]
    history.push(user('b'))
    expect(view).toHaveLength(2)
    expect(list).toHaveLength(1)
  })

  test('a sequence comes back from its JSON as the same conversation', () => {
    fc.assert(
      fc.property(happenings, (list) => {
        const history = new ConversationHistory()
        for (const happening of list.filter(({ type }) => type === 'push')) apply(history, happening)
        const again = ConversationHistory.from(JSON.parse(JSON.stringify(history)) as ChatMessage[])
        expect(JSON.stringify(again)).toBe(JSON.stringify(history))
        expect(again.prompt()).toEqual(history.prompt())
        expect(again.openCalls()).toEqual(history.openCalls())
      }),
    )
  })

  test('a sequence has entries of exactly one side, and the results of one reply in one entry [1.9]', () => {
    const history = ConversationHistory.from([system('s'), user('a'), assistant('b', 'c1', 'c2')])
    history.extend([result('c1'), result('c2')])
    history.push({ type: 'error', id: 'e', at, message: 'not so' })
    expect(history.getEntries()).toEqual([
      { user: user('a'), assistant: null },
      { user: null, assistant: assistant('b', 'c1', 'c2') },
      { user: { type: 'toolResults', results: [result('c1'), result('c2')] }, assistant: null },
    ])
  })
})

describe('a branch', () => {
  test('a branch begins with the same messages, and neither sees later messages of the other (HISTORY-1)', () => {
    fc.assert(
      fc.property(happenings, happenings, happenings, (list, left, right) => {
        const history = new ConversationHistory()
        for (const happening of list) apply(history, happening)
        const branch = history.clone()
        const alone = new ConversationHistory()
        for (const happening of [...list, ...right]) apply(alone, happening)
        for (const happening of left) apply(history, happening)
        for (const happening of right) apply(branch, happening)
        expect([branch.messages, branch.prompt(), branch.openCalls()]).toEqual([
          alone.messages,
          alone.prompt(),
          alone.openCalls(),
        ])
        expect(branch.lastAssistant).toEqual(alone.lastAssistant)
        for (const id of ['c1', 'c2', 'c3', 'c4']) expect(branch.hasCall(id)).toBe(alone.hasCall(id))
      }),
    )
  })

  test('a branch keeps the objects of the previous prompt', () => {
    const history = ConversationHistory.from([user('a'), assistant('b', 'c1'), result('c1'), user('d')])
    const [first, second] = history.prompt()
    expect(history.clone().prompt()[0]).toBe(first)
    expect(history.clone().prompt()[1]).toBe(second)
  })
})

describe('open calls', () => {
  test('open calls are those of the newest assistant message without a result, in call order', () => {
    const history = ConversationHistory.from([user('a'), assistant('b', 'c1', 'c2', 'c3')])
    expect(openIds(history)).toEqual(['c1', 'c2', 'c3'])
    history.push(result('c2'))
    history.push(result('c9'))
    expect(openIds(history)).toEqual(['c1', 'c3'])
    history.push(result('c1'))
    history.push(result('c3'))
    expect(openIds(history)).toEqual([])
  })

  test('open calls are returned as they were recorded, not as they are sent', () => {
    const history = ConversationHistory.from([user('a'), assistant('b', 'c1')])
    expect(history.openCalls()[0]).toBe((history.get(1) as AssistantMessage).content[0])
  })

  test.each([
    ['a user message', user('stop')],
    ['another assistant message', assistant('d')],
    ['a summary', { type: 'summary', id: 's', at, text: 'so far', messagesCompacted: 2 } as const],
  ])('open calls are closed once %s follows', (_, message) => {
    expect(openIds(ConversationHistory.from([user('a'), assistant('b', 'c1'), message]))).toEqual([])
  })

  test('open calls stay open over a system message and an error', () => {
    const history = ConversationHistory.from([user('a'), assistant('b', 'c1'), system('s')])
    history.push({ type: 'error', id: 'e', at, message: 'not so' })
    expect(openIds(history)).toEqual(['c1'])
  })

  test('open calls are gone once closeCalls was called', () => {
    const history = ConversationHistory.from([user('a'), assistant('b', 'c1')])
    history.closeCalls('cancelled', 'the run was cancelled')
    expect(openIds(history)).toEqual([])
    expect(history.length).toBe(2)
  })

  test('the history knows the ids of all calls it ever had', () => {
    const history = ConversationHistory.from([user('a'), assistant('b', 'c1'), result('c1'), result('c2'), user('d')])
    expect([history.hasCall('c1'), history.hasCall('c2')]).toEqual([true, false])
  })
})

describe('a whole turn', () => {
  test('a whole turn is an assistant message and the results of all its calls, in call order [4.4]', () => {
    const history = ConversationHistory.from([user('a')])
    history.pushAssistantTurn(assistant('b', 'c1', 'c2'), [result('c2'), result('c1')])
    expect(idsOf(history)).toEqual(['a', 'b', 'r-c1', 'r-c2'])
    expect(openIds(history)).toEqual([])
  })

  test.each([
    ['a call without a result', ['c1', 'c2'], ['c1'], 'message b: call c2 of tool "look" has no result'],
    ['a result without a call', ['c1'], ['c1', 'c9'], 'message b: result r-c9 is for call c9'],
    ['a second result', ['c1'], ['c1', 'c1'], 'message b: result r-c1 is for call c1'],
    ['two calls with one id', ['c1', 'c1'], ['c1'], 'message b: call c1 of tool "look" has no result'],
  ])('a turn with %s is refused, and nothing is added', (_, calls, results, message) => {
    const history = ConversationHistory.from([user('a')])
    const push = () => history.pushAssistantTurn(assistant('b', ...calls), results.map(result))
    expect(push).toThrow(InputError)
    expect(push).toThrow(message)
    expect(idsOf(history)).toEqual(['a'])
  })
})

test('clearConversation keeps the system messages, and the old conversation is unchanged [4.5]', () => {
  const history = ConversationHistory.from([system('s'), user('a'), assistant('b', 'c1'), system('t')])
  const anew = history.clearConversation()
  expect(idsOf(anew)).toEqual(['s', 't'])
  expect(anew.hasCall('c1')).toBe(false)
  anew.push(user('n'))
  expect(idsOf(history)).toEqual(['s', 'a', 'b', 't'])
})
