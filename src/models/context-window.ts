/**
 * Duty: how many tokens a model of a provider takes, from a table that others keep.
 * CONTEXT-WINDOW-1 The table is loaded with the first question. It is data in this process: nothing is asked over the network.
 */

/** `name`: `provider/model`. Null if the table does not know it, or has no window for it. */
export async function contextWindow(name: string): Promise<number | null> {
  const [provider = '', ...rest] = name.split('/')
  const { calcPrice } = await import('@pydantic/genai-prices')
  const usage = { input_tokens: 0, output_tokens: 0 }
  try {
    const found = calcPrice(usage, rest.join('/'), { providerId: provider.replace(/^openai-.*/, 'openai') })
    const window = found?.model.context_window
    return Number.isSafeInteger(window) && Number(window) > 0 ? Number(window) : null
  } catch {
    // It throws for some names that it does not know.
    return null
  }
}
