/**
 * Duty: one adapter for all providers of the AI SDK: one call of `streamText`, one reply.
 * S1 The SDK is loaded with the first call: a node without model calls never pays for it.
 * S2 No loop, no retry, no tool run, no check and no repair of arguments by the SDK: those are the runtime's.
 * S3 What the stream gives is taken at once and within a limit; when it is no longer wanted, the request is aborted.
 * S4 Nothing is fetched on behalf of a message: addresses in it are handed to the provider as they are.
 */
import type { JSONSchema7, LanguageModel, ToolSet } from 'ai'
import type { Model, ModelCall, ModelReply, ModelRequest, ToolSpec } from '../core/definition/model.ts'
import { policy } from '../core/policy.ts'
import { type ErrorContext, toModelError } from './sdk-errors.ts'
import { SdkPrompt } from './sdk-prompt.ts'
import { type SdkPart, SdkReply } from './sdk-reply.ts'
import { wellFormed } from './well-formed.ts'

export type SdkLanguageModel = Exclude<LanguageModel, string>
type CallOptions = Parameters<typeof import('ai').streamText>[0]

export interface SdkModelOptions extends ErrorContext {
  /** Called with the first reply that is asked for. */
  load(): Promise<SdkLanguageModel>
  readonly providerOptions?: NonNullable<CallOptions['providerOptions']> | undefined
}

export function sdkModel(options: SdkModelOptions): Model {
  return new SdkModel(options)
}

class SdkModel implements Model {
  readonly id: string
  readonly #options: SdkModelOptions
  readonly #prompt: SdkPrompt
  #loaded: Promise<SdkLanguageModel> | undefined

  constructor(options: SdkModelOptions) {
    this.id = options.id
    this.#options = options
    this.#prompt = new SdkPrompt(options.id)
  }

  async reply(request: ModelRequest, call: ModelCall): Promise<ModelReply> {
    call.signal.throwIfAborted()
    const own = new AbortController()
    const abort = () => own.abort(call.signal.reason)
    call.signal.addEventListener('abort', abort, { once: true })
    try {
      return await this.#stream(request, call, own.signal)
    } catch (thrown) {
      call.signal.throwIfAborted()
      throw toModelError(thrown, this.#options)
    } finally {
      call.signal.removeEventListener('abort', abort)
      // Ends a request whose rest nobody will read; one that is over does not notice.
      own.abort()
    }
  }

  /** Once; what failed is tried again by the next call. */
  #load(): Promise<SdkLanguageModel> {
    this.#loaded ??= this.#options.load().catch((error: unknown) => {
      this.#loaded = undefined
      throw error
    })
    return this.#loaded
  }

  async #stream(request: ModelRequest, call: ModelCall, abortSignal: AbortSignal): Promise<ModelReply> {
    const sdk = await loadSdk()
    const model = await this.#load()
    const reply = new SdkReply(this.id, policy.replyBytesMax, (delta) => call.onDelta(delta))
    const { stream } = sdk.streamText({
      model,
      messages: this.#prompt.messages(request.messages),
      tools: toolsOf(sdk, request.tools),
      abortSignal,
      maxRetries: 0,
      headers: { 'Idempotency-Key': headerText(request.idempotencyKey) },
      experimental_download: async (wanted) => wanted.map(() => null),
      // The default prints the error with its request.
      onError: () => undefined,
      ...(request.instructions === '' ? {} : { instructions: wellFormed(request.instructions) }),
      ...(this.#options.providerOptions === undefined ? {} : { providerOptions: this.#options.providerOptions }),
    })
    let isFirst = true
    for await (const part of stream) {
      if (part.type === 'error') throw part.error
      if (isFirst && saysSomething(part)) {
        isFirst = false
        call.onFirstByte()
      }
      reply.take(part)
      // All is said; what follows is the SDK's bookkeeping for a loop that is not run.
      if (part.type === 'finish-step') break
    }
    abortSignal.throwIfAborted()
    return reply.end()
  }
}

function saysSomething(part: SdkPart): boolean {
  return part.type !== 'start' && part.type !== 'abort'
}

/** Schemas are shown to the model and not checked: a schema without a validator accepts all JSON. */
function toolsOf(sdk: typeof import('ai'), tools: readonly ToolSpec[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      { description, inputSchema: sdk.jsonSchema(inputSchema as JSONSchema7) },
    ]),
  )
}

/** Names of workers may hold any character, headers may not. */
function headerText(text: string): string {
  return encodeURI(text.toWellFormed())
}

async function loadSdk(): Promise<typeof import('ai')> {
  const sdk = await import('ai')
  // Its warnings go to stderr past the log. Who has set a logger for them keeps it.
  globalThis.AI_SDK_LOG_WARNINGS ??= false
  return sdk
}
