/** What agents used, and its sums. */
import { expect, test } from 'vitest'
import {
  addSpending,
  addUsage,
  credibleUsage,
  noUsage,
  sumOfUsage,
  tokensOf,
  usageOf,
} from '../../../../src/core/worker/run/usage.ts'

const call = { modelCalls: 1, toolCalls: 2, inputTokens: 10, outputTokens: 3, cacheReadTokens: 4 }

test('usage that a provider did not count adds nothing', () => {
  const once = addUsage(noUsage, { ...call, reasoningTokens: undefined })
  expect(once).toEqual({ ...noUsage, ...call })
  expect(sumOfUsage([call, {}, once])).toEqual({
    ...noUsage,
    modelCalls: 2,
    toolCalls: 4,
    inputTokens: 20,
    outputTokens: 6,
    cacheReadTokens: 8,
  })
})

test('tokens that were read from a cache count once, among those that went in', () => {
  expect(tokensOf(call)).toBe(13)
  expect(addSpending({ modelCalls: 1, tokens: 13, toolCalls: 4 }, { modelCalls: 2, tokens: 7, toolCalls: 5 })).toEqual({
    modelCalls: 3,
    tokens: 20,
    toolCalls: 9,
  })
})

test('a stored usage with more fields is read without them', () => {
  expect(usageOf({ ...noUsage, ...call, iterations: 3 } as typeof noUsage)).toEqual({ ...noUsage, ...call })
})

test.each([
  [{ inputTokens: 5, outputTokens: 0 }, 5],
  [{ inputTokens: 1e308, outputTokens: 0 }, 0],
  [{ inputTokens: Number.POSITIVE_INFINITY, outputTokens: 0 }, 0],
  [{ inputTokens: Number.NaN, outputTokens: 0 }, 0],
  [{ inputTokens: -7, outputTokens: 0 }, 0],
  [{ inputTokens: 2e9, outputTokens: 0 }, 0],
])('the usage %j counts %d input tokens', (usage, counted) => {
  expect(credibleUsage(usage)).toEqual({ ...usage, inputTokens: counted })
})
