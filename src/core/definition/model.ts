/**
 * Duty: the port to language models: one call, one reply. Adapters live in models/; the runtime knows only this port.
 * MODEL-1 A model does not retry by itself. It throws a typed error, and the run waits on a durable timer.
 * MODEL-2 `reply` throws a TransientError (`model_overloaded`, `model_unavailable`, `model_garbled`) for a failure that may pass, with
 *         `retryAfterMs` if the provider names a wait. It throws a TerminalError for a failure that no retry can mend: `context_overflow`
 *         if the prompt is too long, else `model_refused`, with `wouldRefuseAny: true` in its details if the prompt is not to blame. It
 *         throws the reason of the signal when the signal fires.
 * MODEL-3 Keys of providers come from the environment. They never appear in a request, a reply, an error or a log.
 */

import type { AssistantBlock, FinishReason, ToolOutput, Usage, UserBlock } from '../history/chat/chat-message.ts'
import type { CallSettings } from './tool/call-settings.ts'

/** A tool as a model sees it. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
}

/** A message to the model. Roles alternate, and each call has its result, whatever the history holds. The system prompt is `instructions`. */
export type PromptMessage =
  | { readonly role: 'user'; readonly content: readonly UserBlock[] }
  /** `model`: the `provider/model` that was asked. */
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
  readonly settings?: CallSettings | undefined
  /** The reply that is no call must be JSON of this JSON Schema. The instructions say so too; a model that can be held to it should be. */
  readonly output?: Readonly<Record<string, unknown>> | undefined
  /**
   * The same key each time this reply is asked for: `<worker>/<run>/<iteration>`, followed by `.<number>` after that number of blank replies, and
   * by `.c<number>` after the prompt was compacted because it was too long.
   */
  readonly idempotencyKey: string
}

export interface ModelDelta {
  readonly type: 'text' | 'reasoning'
  readonly text: string
}

export interface ModelCall {
  readonly signal: AbortSignal
  /** Called when the first byte of the reply has arrived. */
  onFirstByte(): void
  onDelta(delta: ModelDelta): void
  /** To be called when more of the reply has arrived that is no text. Without it, and without deltas, the call counts as idle. */
  onActivity?(): void
  /** To be called by a model that `tellsSent`, when its request leaves. */
  onSent?(): void
  /** To be called with what the provider says that the call has used so far. It counts if the call is broken off, or fails. */
  onUsage?(usage: Usage): void
  /** To be called with a sentence about a part of the reply that could not be used and was left out. */
  onSkipped?(what: string): void
}

export interface ModelReply {
  /** `provider/model`, as the provider names it. */
  readonly model: string
  readonly content: readonly AssistantBlock[]
  readonly finishReason: FinishReason
  readonly usage: Usage
}

export interface Model {
  /** `provider/model`. */
  readonly id: string
  /** Says in one sentence which of these settings it does not take; null if it takes all of them. Asked when a kind is opened. */
  settingProblem?(settings: CallSettings): string | null
  /** How many tokens a prompt and its reply may have together; null if that is not known. A model without this method says nothing of it. */
  contextWindow?(): Promise<number | null>
  /** It calls `onSent`. A request that never leaves, because there is no connection to the provider, then counts nowhere. */
  readonly tellsSent?: boolean
  reply(request: ModelRequest, call: ModelCall): Promise<ModelReply>
}

/** Opens the model that a definition names: `provider/model`, a language model of the AI SDK, or a Model. Undefined opens the default. */
export interface ModelSource {
  /** Throws a ConfigError that says what is missing. It is cheap to open the same name again. */
  open(model: unknown): Model
}

/** The settings with which models are opened. */
export interface ModelSettings {
  /** The model for a definition that names none. Default: the offline model. */
  readonly default?: string | undefined
  /** Keys and addresses of providers: `<NAME>_API_KEY`, `<NAME>_BASE_URL`. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Your own prices, by `provider/model`, in place of those of the table. */
  readonly prices?: Readonly<Record<string, ModelPrice>> | undefined
}

/** Prices in dollars for a million tokens. Tokens from or into a cache cost as much as other input if nothing else is said. */
export interface ModelPrice {
  /** The price of what the model reads. */
  readonly input: number
  /** The price of what it writes. */
  readonly output: number
  /** The price of what the provider reads from its cache. Default: as `input`. */
  readonly cacheRead?: number | undefined
  /** The price of what the provider writes into its cache. Default: as `input`. */
  readonly cacheWrite?: number | undefined
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
