/** Ids of tool calls as providers get them. */
import { expect, test } from 'vitest'
import { sentCallId } from '../../../src/models/http/call-id.ts'

const long = 'call:'.repeat(20)

test('the model that gave an id gets it back as it gave it (CALL-ID-1)', () => {
  expect(sentCallId({ toolCallId: 'c1', givenId: long }, true)).toBe(long)
  expect(sentCallId({ toolCallId: long }, true)).toBe(long)
})

test('another model gets ids that all providers accept, and two ids never become one (CALL-ID-2)', () => {
  const ids = ['c1', 'c:1', 'c_1', 'c.1', '', long, `${long}a`, `${long}b`, 'x'.repeat(41), 'x'.repeat(42)]
  const sent = ids.map((toolCallId) => sentCallId({ toolCallId, givenId: 'given' }, false))
  for (const id of sent) expect(id).toMatch(/^[A-Za-z0-9_-]{1,40}$/)
  expect(new Set(sent).size).toBe(ids.length)
  expect(ids.map((toolCallId) => sentCallId({ toolCallId }, false))).toEqual(sent)
})
