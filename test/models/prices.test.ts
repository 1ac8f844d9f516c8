/** What a model call costs, by prices of the user and by the table of public ones. A price that nobody knows is never 0. */
import { describe, expect, test } from 'vitest'
import { say } from '../../src/models/local/scripted-model.ts'
import { openModels } from '../../src/models/model-source.ts'
import { pricedModel } from '../../src/models/priced-model.ts'
import { priceList } from '../../src/models/prices.ts'

describe('a price', () => {
  const usage = { inputTokens: 1_000, outputTokens: 100, cacheReadTokens: 600 }

  test('a price comes from the table of public prices, and is null for a model that it does not know', async () => {
    const priceOf = priceList()
    const million = { inputTokens: 1_000_000, outputTokens: 0 }
    expect(await priceOf('openai/gpt-4o', million)).toBe(2_500_000)
    expect(await priceOf('openai/gpt-4o', { ...million, cacheReadTokens: 1_000_000 })).toBe(1_250_000)
    const written = { inputTokens: 100_000, outputTokens: 0, cacheWriteTokens: 100_000 }
    expect(await priceOf('anthropic/claude-sonnet-4-5', written)).toBe(375_000)
    expect(await priceOf('openai/no-such-model', usage)).toBeNull()
    expect(await priceOf('nobody/nothing', usage)).toBeNull()
    expect(await priceOf('offline/rules', usage)).toBe(0)
  })

  test('a price of your own comes first, knows the cache, and is rounded up', async () => {
    const priceOf = priceList({
      'openai/gpt-4o': { input: 2, output: 10, cacheRead: 0.5, cacheWrite: 4 },
      'own/m': { input: 0.001, output: 0 },
      'own/plain': { input: 1.1, output: 0 },
    })
    // 400 × 2 + 600 × 0.5 + 100 × 10 millionths.
    expect(await priceOf('openai/gpt-4o', usage)).toBe(2_100)
    // 200 of the 400 are written to the cache.
    expect(await priceOf('openai/gpt-4o', { ...usage, cacheWriteTokens: 200 })).toBe(2_500)
    expect(await priceOf('own/m', { inputTokens: 1, outputTokens: 0 })).toBe(1)
    // As a float it is 55.00000000000001 millionths.
    expect(await priceOf('own/plain', { inputTokens: 50, outputTokens: 0 })).toBe(55)
    // A provider that counts what it read from its cache apart gives nothing back.
    expect(await priceOf('openai/gpt-4o', { inputTokens: 100, outputTokens: 0, cacheReadTokens: 600 })).toBe(300)
  })

  test('a value that is no price is refused when the models are opened', () => {
    const open = (price: unknown) => () => openModels({ env: {}, prices: { 'own/m': price as never } })
    expect(open({ input: 3 })).toThrow(/price of "own\/m" is not valid: write dollars for a million tokens/)
    expect(open({ input: -1, output: 2 })).toThrow(/not valid/)
    expect(open(null)).toThrow(/not valid/)
  })

  const own = {
    id: 'own/m',
    reply: async () => ({
      ...say('x'),
      finishReason: 'stop' as const,
      model: 'own/m',
      usage: { inputTokens: 10, outputTokens: 2 },
    }),
  }

  test('a price that the user sets is in the replies of a model that the user wrote', async () => {
    const model = openModels({ env: {}, prices: { 'own/m': { input: 100_000, output: 0 } } }).open(own)
    const reply = await model.reply({} as never, {} as never)
    expect(reply.usage.costMicroUsd).toBe(1_000_000)
  })

  test('a reply whose price cannot be found out is given without one', async () => {
    const model = pricedModel(own, () => Promise.reject(new Error('the table cannot be loaded')))
    expect((await model.reply({} as never, {} as never)).usage).toEqual({ inputTokens: 10, outputTokens: 2 })
  })
})
