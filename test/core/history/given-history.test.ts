/** A conversation that was recorded here can begin another session, if it is not too long. */
import { expect, test } from 'vitest'
import type { Json } from '../../../src/core/history/chat/chat-message.ts'
import { chat } from '../../../src/core/history/chat/message-factories.ts'
import { encodeGivenHistory } from '../../../src/core/history/given-history.ts'
import { policy } from '../../../src/core/policy.ts'

const nested = (levels: number): Json => (levels === 0 ? 1 : { of: nested(levels - 1) })
const called = (input: Json, output: Json) => [
  chat.user('hi'),
  chat.assistant([{ type: 'tool-call', toolCallId: 'c', toolName: 't', input }]),
  chat.tool('c', output, { toolName: 't' }),
]

test('a call and a result that are as deep as a value may be are taken over with their messages', () => {
  const deepest = nested(policy.jsonDepthMax)
  expect(encodeGivenHistory(called(deepest, deepest))).toHaveLength(3)
  const tooDeep = nested(1_000)
  expect(() => encodeGivenHistory(called(tooDeep, 1))).toThrow('message 1 is nested more than 72 deep')
  expect(() => encodeGivenHistory(called(1, tooDeep))).toThrow('message 2 is nested more than 72 deep')
})

test('a history has no more bytes than one script may take, whatever its messages have', () => {
  const message = chat.user('x'.repeat(policy.messageBytesMax - 1_000))
  const all = Array.from({ length: 33 }, () => message)
  expect(() => encodeGivenHistory(all)).toThrow(/^the history has \d+ bytes of JSON; the limit is 33554432\./)
  expect(encodeGivenHistory(all.slice(1))).toHaveLength(32)
})
