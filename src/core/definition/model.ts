/**
 * Duty: the port to language models: one call, one reply. Adapters live in models/; the runtime knows only this.
 * L1 A model does not retry by itself: it throws a typed error, and the run waits on a durable timer.
 * L2 `reply` throws a TransientError (`model_overloaded`, `model_unavailable`, `model_garbled`; with `retryAfterMs` where the provider
 *    says so) for what may pass, a TerminalError (`model_refused`) for what no retry can mend, and the signal's reason when it fires.
 * L3 Keys of providers come from the environment and never appear in a request, a reply, an error or a log.
 */
import type { AssistantBlock, FinishReason, ToolOutput, Usage, UserBlock } from '../history/chat-message.ts'

/** A tool as a model is shown it. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
}

/** What is sent: paired and alternating, whatever the history went through. The system prompt is `instructions`. */
export type PromptMessage =
  | { readonly role: 'user'; readonly content: readonly UserBlock[] }
  | { readonly role: 'assistant'; readonly model: string; readonly content: readonly AssistantBlock[] }
  /** The results of all calls of the assistant message before it, in call order. */
  | { readonly role: 'tool'; readonly results: readonly PromptResult[] }

export interface PromptResult {
  readonly toolCallId: string
  readonly toolName: string
  readonly output: ToolOutput
}

export interface ModelRequest {
  readonly instructions: string
  readonly messages: readonly PromptMessage[]
  readonly tools: readonly ToolSpec[]
  /** The same each time this very reply is asked for: `<worker>/<run>/<iteration>`, after blank replies with `.<how many>` behind it. */
  readonly idempotencyKey: string
}

export interface ModelDelta {
  readonly type: 'text' | 'reasoning'
  readonly text: string
}

export interface ModelCall {
  readonly signal: AbortSignal
  /** The first byte of the reply was seen. */
  onFirstByte(): void
  onDelta(delta: ModelDelta): void
}

export interface ModelReply {
  /** `provider/model`, as the provider named it. */
  readonly model: string
  readonly content: readonly AssistantBlock[]
  readonly finishReason: FinishReason
  readonly usage: Usage
}

export interface Model {
  /** `provider/model`. */
  readonly id: string
  reply(request: ModelRequest, call: ModelCall): Promise<ModelReply>
}

/** Opens models by what a definition says: `provider/model`, a language model of the AI SDK, or a Model; undefined: the default. */
export interface ModelSource {
  /** Throws a ConfigError that says what is missing. Opening the same name again is cheap. */
  open(model: unknown): Model
}

/** What models are opened with. */
export interface ModelSettings {
  /** What a definition without a model means. Default: the offline model. */
  readonly default?: string | undefined
  /** Keys and addresses of providers: `<NAME>_API_KEY`, `<NAME>_BASE_URL`. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export function isModel(value: unknown): value is Model {
  return (
    typeof value === 'object' &&
    value !== null &&
    'id' in value &&
    'reply' in value &&
    typeof value.reply === 'function'
  )
}
