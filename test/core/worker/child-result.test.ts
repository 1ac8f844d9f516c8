/** What the result of a child does to the run of its parent. */
import { expect, test } from 'vitest'
import { receiveResult } from '../../../src/core/worker/child-result.ts'

test('a result that is awaited is reported, and its call is pending no more', () => {
  expect(receiveResult([1, 3, 4], { call: 3 })).toEqual({ kind: 'report', pendingCalls: [1, 4] })
})

test('a result that comes twice, or for which nothing waits, is ignored', () => {
  expect(receiveResult([1, 4], { call: 3 })).toEqual({ kind: 'ignore' })
  expect(receiveResult([], { call: 1 })).toEqual({ kind: 'ignore' })
})
