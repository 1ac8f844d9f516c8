/**
 * Duty: what a model call costs, in millionths of a dollar: by prices that somebody set, else by a table that others keep.
 * PRICES-1 An unknown price is null, never 0. A call costs at least a millionth if its price is not 0: fractions are rounded up.
 * PRICES-2 The table is data in this process; nothing is asked over the network. It is loaded with the first call that needs it.
 */
import type { ModelPrice, ModelSettings } from '../core/definition/model.ts'
import { ConfigError } from '../core/errors.ts'
import type { Usage } from '../core/history/chat/chat-message.ts'

/** `name`: `provider/model`. */
export type PriceOf = (name: string, usage: Usage) => Promise<number | null>

export function priceList(own: ModelSettings['prices'] = {}): PriceOf {
  for (const [name, price] of Object.entries(own)) checkPrice(name, price)
  return async (name, usage) => {
    const price = own[name]
    if (price === undefined && name.startsWith('offline/')) return 0
    return price === undefined ? priceOfTable(name, usage) : microUsd(ownCost(price, usage))
  }
}

const perMillion = 1_000_000

/** Tokens from a cache are among the input tokens. Without a price of their own they cost what others cost. */
function ownCost({ input, output, cacheRead = input, cacheWrite = input }: ModelPrice, usage: Usage): number {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage
  const plain = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens)
  return (
    (plain * input + cacheReadTokens * cacheRead + cacheWriteTokens * cacheWrite + outputTokens * output) / perMillion
  )
}

async function priceOfTable(name: string, usage: Usage): Promise<number | null> {
  const [provider = '', ...rest] = name.split('/')
  const { calcPrice } = await import('@pydantic/genai-prices')
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage
  const used = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    ...(cacheReadTokens !== undefined && { cache_read_tokens: cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { cache_write_tokens: cacheWriteTokens }),
  }
  try {
    const found = calcPrice(used, rest.join('/'), { providerId: provider.replace(/^openai-.*/, 'openai') })
    return found === null ? null : microUsd(found.total_price)
  } catch {
    // It throws for some names that it does not know.
    return null
  }
}

/** Sums of floats end in digits that nobody meant: they are cut off before the rest is rounded up. */
function microUsd(usd: number): number | null {
  const micros = Math.ceil(Number((usd * perMillion).toFixed(6)))
  return Number.isSafeInteger(micros) && micros >= 0 ? micros : null
}

function checkPrice(name: string, price: ModelPrice): void {
  const { input, output, cacheRead, cacheWrite } = (price ?? {}) as Partial<ModelPrice>
  const isAmount = (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value >= 0
  const isOptional = (value: unknown) => value === undefined || isAmount(value)
  if (!(isAmount(input) && isAmount(output) && isOptional(cacheRead) && isOptional(cacheWrite)))
    throw new ConfigError(
      `the price of ${JSON.stringify(name)} is not valid: write dollars for a million tokens, like { input: 3, output: 15, cacheRead: 0.3 }.`,
    )
}
