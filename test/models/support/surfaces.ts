/** The protocols of providers that the adapter speaks, each against the same server; and what a call of a model needs. */
import type { Model, ModelCall, ModelDelta, ModelRequest, PromptMessage } from '../../../src/core/definition/model.ts'
import { openModels } from '../../../src/models/model-source.ts'

/** A key that must never appear in anything a caller sees; only who knows it can tell that it is one. */
export const canary = 'canary.that.looks.like.plain.words'

export interface Surface {
  readonly provider: string
  readonly path: string
}

export const surfaces: readonly Surface[] = [
  { provider: 'openai-chat', path: '/v1/chat/completions' },
  { provider: 'openai', path: '/v1/responses' },
  { provider: 'anthropic', path: '/v1/messages' },
  { provider: 'local', path: '/v1/chat/completions' },
]

export function openAt(surface: Surface, url: string, model = 'test-model'): Model {
  const env = {
    OPENAI_API_KEY: canary,
    OPENAI_BASE_URL: `${url}/v1`,
    ANTHROPIC_API_KEY: canary,
    ANTHROPIC_BASE_URL: url,
    LOCAL_API_KEY: canary,
    LOCAL_BASE_URL: `${url}/v1/`,
  }
  return openModels({ env }).open(`${surface.provider}/${model}`)
}

export function user(text: string): PromptMessage {
  return { role: 'user', content: [{ type: 'text', text }] }
}

export function requestOf(messages: readonly PromptMessage[], rest: Partial<ModelRequest> = {}): ModelRequest {
  return { instructions: 'You are terse.', messages, tools: [], idempotencyKey: 'w/1/1', ...rest }
}

export interface Heard extends ModelCall {
  readonly deltas: ModelDelta[]
  /** Number of deltas heard when the first byte was told; -1 before. */
  firstByteAt: number
}

export function listener(signal: AbortSignal = new AbortController().signal): Heard {
  const heard: Heard = {
    signal,
    deltas: [],
    firstByteAt: -1,
    onFirstByte() {
      heard.firstByteAt = heard.deltas.length
    },
    onDelta(delta) {
      heard.deltas.push(delta)
    },
  }
  return heard
}

/** What a call throws; fails when it does not. */
export async function errorOf(work: Promise<unknown>): Promise<unknown> {
  const seen = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in seen) return seen.error
  throw new Error(`An error was awaited, not ${JSON.stringify(seen.value)}.`)
}
