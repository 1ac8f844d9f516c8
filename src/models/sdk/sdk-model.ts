/**
 * Duty: one adapter for all providers of the AI SDK: one call of `streamText`, one reply.
 * SDK-MODEL-1 The SDK is loaded with the first call. A node without model calls never loads it.
 * SDK-MODEL-2 The SDK makes no loop, no retry, no tool run, and neither checks nor repairs arguments. The runtime does all of this.
 * SDK-MODEL-3 The stream is read at once and within a size limit. When the reply is no longer wanted, the request is aborted.
 * SDK-MODEL-4 Addresses in a message are passed to the provider. Nothing is fetched here.
 */
import type { JSONSchema7, LanguageModel, ModelMessage, ToolSet } from 'ai'
import type { Model, ModelCall, ModelReply, ModelRequest, ToolSpec } from '../../core/definition/model.ts'
import type { CallSettings } from '../../core/definition/tool/call-settings.ts'
import { type RuntimeError, TransientError } from '../../core/errors.ts'
import type { ProviderOptions } from '../../core/history/chat/chat-message.ts'
import { policy } from '../../core/policy.ts'
import { contextWindow } from '../context-window.ts'
import { currentCall } from '../http/reply-fetch.ts'
import { wellFormed } from '../http/well-formed.ts'
import { mergedOptions, refuseDropped, type SettingRules, sdkSettings, settingProblem } from '../settings.ts'
import { type ErrorContext, toModelError } from './sdk-errors.ts'
import { type FewerMessages, SdkPrompt } from './sdk-prompt.ts'
import { type SdkPart, SdkReply } from './sdk-reply.ts'

export type SdkLanguageModel = Exclude<LanguageModel, string>
type SdkSettings = Pick<
  Parameters<typeof import('ai').streamText>[0],
  'temperature' | 'maxOutputTokens' | 'reasoning' | 'stopSequences' | 'providerOptions'
>

export interface SdkModelOptions extends ErrorContext {
  /** Called when the first reply is asked for. */
  load(): Promise<SdkLanguageModel>
  readonly providerOptions?: ProviderOptions | undefined
  /** What is known of the provider's settings. Default: nothing. */
  readonly settingRules?: SettingRules | undefined
  /** Its requests are made with `replyFetch`, which tells when they leave. */
  readonly tellsSent?: boolean
}

export function sdkModel(options: SdkModelOptions): Model {
  return new SdkModel(options)
}

class SdkModel implements Model {
  readonly id: string
  readonly tellsSent: boolean
  readonly #options: SdkModelOptions
  readonly #prompt: SdkPrompt
  #loaded: Promise<SdkLanguageModel> | undefined
  /** False once its provider has said that it takes no schema. */
  #holdsToSchema = true

  constructor(options: SdkModelOptions) {
    this.id = options.id
    this.tellsSent = options.tellsSent ?? false
    this.#options = options
    this.#prompt = new SdkPrompt(options.id)
  }

  settingProblem(settings: CallSettings): string | null {
    return settingProblem(this.id, settings, this.#options.settingRules ?? {})
  }

  contextWindow(): Promise<number | null> {
    return contextWindow(this.id)
  }

  async reply(request: ModelRequest, call: ModelCall): Promise<ModelReply> {
    call.signal.throwIfAborted()
    const own = new AbortController()
    const abort = () => own.abort(call.signal.reason)
    call.signal.addEventListener('abort', abort, { once: true })
    let hasBegun = false
    const onFirstByte = () => {
      hasBegun = true
      call.onFirstByte()
    }
    try {
      return await this.#ask(request, { ...call, onFirstByte }, own.signal)
    } catch (thrown) {
      call.signal.throwIfAborted()
      throw this.#toError(thrown, request, hasBegun)
    } finally {
      call.signal.removeEventListener('abort', abort)
      // Aborts a request whose rest nobody will read. This does nothing if the request is over.
      own.abort()
    }
  }

  /** A model that turns out not to take something is asked again without it, as after any failure that may pass. */
  #toError(thrown: unknown, request: ModelRequest, hasBegun: boolean): RuntimeError {
    const error = toModelError(thrown, { ...this.#options, hasBegun })
    if (error.code !== 'model_refused') return error
    const instead = this.#learn(saidIn(error.message), request)
    if (instead === null) return error
    const { message, details } = error
    return new TransientError(`${message} – it is asked again ${instead}`, { code: 'model_unavailable', details })
  }

  /** How it is asked from now on; null: as before. */
  #learn(said: string, { messages, output }: ModelRequest): string | null {
    if (this.#prompt.learnFromProvider(said, messages)) return 'with a note in their place'
    if (output === undefined || !this.#holdsToSchema || !refusesSchema.test(said)) return null
    this.#holdsToSchema = false
    return 'without being held to the schema of its output'
  }

  async #heldTo(sdk: typeof import('ai'), request: ModelRequest): Promise<SdkLanguageModel> {
    const model = await this.#load()
    return this.#holdsToSchema ? heldTo(sdk, model, request, this.#options.settingRules) : model
  }

  /** Loads the model once. After a failure the next call tries again. */
  #load(): Promise<SdkLanguageModel> {
    this.#loaded ??= this.#options.load().catch((error: unknown) => {
      this.#loaded = undefined
      throw error
    })
    return this.#loaded
  }

  /** An adapter that cannot send some media throws before it sends anything. The request is then made without these media. */
  async #ask(request: ModelRequest, call: ModelCall, abortSignal: AbortSignal): Promise<ModelReply> {
    let messages = this.#prompt.messages(request.messages)
    for (let isLast = false; ; ) {
      try {
        return await currentCall.run(call, () => this.#stream(request, messages, call, abortSignal))
      } catch (thrown) {
        const fewer: FewerMessages | null = isLast ? null : this.#prompt.withoutRefused(thrown, request.messages)
        if (fewer === null) throw thrown
        isLast = fewer.isLast
        messages = fewer.messages
      }
    }
  }

  async #stream(
    request: ModelRequest,
    messages: ModelMessage[],
    call: ModelCall,
    abortSignal: AbortSignal,
  ): Promise<ModelReply> {
    const sdk = await loadSdk()
    const model = await this.#heldTo(sdk, request)
    const reply = new SdkReply(this.id, policy.replyBytesMax, (delta) => call.onDelta(delta))
    const { stream } = sdk.streamText({
      model,
      messages,
      tools: toolsOf(sdk, request.tools),
      abortSignal,
      maxRetries: 0,
      headers: { 'Idempotency-Key': headerText(request.idempotencyKey) },
      experimental_download: async (wanted) => wanted.map(() => null),
      // The default prints the error together with the request.
      onError: () => undefined,
      ...(request.instructions.trim() === '' ? {} : { instructions: wellFormed(request.instructions) }),
      ...(sdkSettings(request.settings, this.#options.providerOptions, this.#options.settingRules) as SdkSettings),
    })
    let isFirst = true
    for await (const part of stream) {
      if (part.type === 'error') throw part.error
      if (part.type === 'start-step') refuseDropped(this.id, request.settings, part.warnings)
      if (comesFromProvider(part)) {
        if (isFirst) call.onFirstByte()
        isFirst = false
        call.onActivity?.()
      }
      reply.take(part)
      // The reply is complete. The parts that follow belong to the SDK's own loop, which is not used.
      if (part.type === 'finish-step') break
    }
    if (reply.usage) call.onUsage?.(reply.usage)
    abortSignal.throwIfAborted()
    return reply.end()
  }
}

/** If a provider can hold a reply to a schema, it is told to. What its model replies is checked all the same. */
async function heldTo(
  { wrapLanguageModel }: typeof import('ai'),
  model: SdkLanguageModel,
  { output, tools }: ModelRequest,
  rules: SettingRules = {},
): Promise<SdkLanguageModel> {
  if (output === undefined || output.type !== 'object' || (rules.heldCallsNoTools && tools.length > 0)) return model
  const options = (await rules.holdTo?.(output)) ?? null
  if (options === null) return model
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      transformParams: async ({ params }) => ({
        ...params,
        responseFormat: { type: 'json', schema: output as JSONSchema7, name: 'output' },
        providerOptions: mergedOptions(options, params.providerOptions as ProviderOptions | undefined) as NonNullable<
          typeof params.providerOptions
        >,
      }),
    },
  })
}

/** What a provider says if it does not hold replies to schemas, or not to this one. */
const refusesSchema =
  /response[_ ]?format|text\.format|output[_ ]?(?:config|format)|json[_ ]?schema|structured[ _-]?outputs?/i

/** The part of a message that the provider wrote. The name of the model, which comes before it, may hold any word. */
function saidIn(message: string): string {
  return message.slice(message.indexOf(': ') + 1)
}

/** The SDK itself says that it begins, before anything has arrived, and that it was stopped. */
function comesFromProvider(part: SdkPart): boolean {
  return part.type !== 'start' && part.type !== 'abort'
}

/** Only the model sees the schemas. The SDK does not check them, because a schema without a validator accepts any JSON. */
function toolsOf(sdk: typeof import('ai'), tools: readonly ToolSpec[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      { description, inputSchema: sdk.jsonSchema(inputSchema as JSONSchema7) },
    ]),
  )
}

/** Encodes a text for a header. Names of workers may hold characters that headers may not. */
function headerText(text: string): string {
  return encodeURI(text.toWellFormed())
}

async function loadSdk(): Promise<typeof import('ai')> {
  const sdk = await import('ai')
  // The SDK prints warnings to stderr, past the log. A logger that the program has set for them stays.
  globalThis.AI_SDK_LOG_WARNINGS ??= false
  return sdk
}
