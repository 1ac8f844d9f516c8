/**
 * Duty: build one reply from the parts of the AI SDK's stream, within a size limit.
 * SDK-REPLY-1 Blocks stand in the order in which the model began them.
 * SDK-REPLY-2 A reply without an end is not a reply, and neither is one that a failure ended. No call of it may run.
 * SDK-REPLY-3 Tool calls are passed on as the model wrote them, even if the SDK considers them invalid. Checking them is the runtime's work.
 */
import type { TextStreamPart, ToolSet } from 'ai'
import type { ModelDelta, ModelReply } from '../../core/definition/model.ts'
import { TerminalError, TransientError } from '../../core/errors.ts'
import { parseExactJson } from '../../core/exact-json.ts'
import type {
  AssistantBlock,
  Json,
  ProviderOptions,
  ToolCallBlock,
  Usage,
} from '../../core/history/chat/chat-message.ts'
import { isDeeperThan } from '../../core/json.ts'
import { policy } from '../../core/policy.ts'
import { withoutKnownSecrets } from '../../core/secret/known-secrets.ts'
import { endingOf, type FailedCallCode } from '../finish-reason.ts'
import { TextJoiner, wellFormed } from '../http/well-formed.ts'
import { providerOptionsOf } from './sdk-prompt.ts'

export type SdkPart = TextStreamPart<ToolSet>
type FinishPart = Extract<SdkPart, { type: 'finish-step' }>
type CallPart = Extract<SdkPart, { type: 'tool-call' }>

interface OpenText {
  readonly type: 'text' | 'reasoning'
  readonly joiner: TextJoiner
  metadata: unknown
}

export class SdkReply {
  readonly #id: string
  readonly #bytesMax: number
  readonly #onDelta: (delta: ModelDelta) => void
  readonly #blocks: (OpenText | ToolCallBlock)[] = []
  readonly #open = new Map<string, OpenText>()
  /** The arguments of each call as the model wrote them, by the id of the call. Their bytes are counted as they arrive. */
  readonly #inputs = new Map<string, string>()
  #bytes = 0
  #finish: FinishPart | undefined

  constructor(id: string, bytesMax: number, onDelta: (delta: ModelDelta) => void) {
    this.#id = id
    this.#bytesMax = bytesMax
    this.#onDelta = onDelta
  }

  take(part: SdkPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#begin(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata)
        return
      case 'text-delta':
      case 'reasoning-delta': {
        const type = part.type === 'text-delta' ? 'text' : 'reasoning'
        this.#count(part.text)
        const open = this.#open.get(`${type} ${part.id}`) ?? this.#begin(type, part.id, undefined)
        open.metadata = part.providerMetadata ?? open.metadata
        const text = open.joiner.add(part.text)
        if (text !== '') this.#onDelta({ type, text })
        return
      }
      case 'text-end':
      case 'reasoning-end': {
        const open = this.#open.get(`${part.type === 'text-end' ? 'text' : 'reasoning'} ${part.id}`)
        if (open !== undefined) open.metadata = part.providerMetadata ?? open.metadata
        return
      }
      case 'tool-input-start':
        this.#inputs.set(part.id, '')
        return
      case 'tool-input-delta':
        this.#count(part.delta)
        this.#inputs.set(part.id, (this.#inputs.get(part.id) ?? '') + part.delta)
        return
      case 'tool-call':
        this.#call(part)
        return
      case 'finish-step':
        this.#finish = part
        return
      default:
    }
  }

  #begin(type: OpenText['type'], id: string, metadata: unknown): OpenText {
    const open: OpenText = { type, joiner: new TextJoiner(), metadata }
    this.#blocks.push(open)
    this.#open.set(`${type} ${id}`, open)
    return open
  }

  #call(part: CallPart): void {
    // The provider runs such a call itself, and it is over by now.
    if (part.providerExecuted === true) return
    const written = this.#inputs.get(part.toolCallId)
    const args = argumentsOf(part, written)
    if (written === undefined) this.#count(args.inputText ?? JSON.stringify(args.input))
    const providerOptions = providerOptionsOf(part.providerMetadata)
    this.#blocks.push({
      type: 'tool-call',
      toolCallId: wellFormed(part.toolCallId),
      toolName: wellFormed(part.toolName),
      ...args,
      ...(providerOptions === undefined ? {} : { providerOptions }),
    })
  }

  #count(text: string): void {
    this.#bytes += Buffer.byteLength(text)
    if (this.#bytes <= this.#bytesMax) return
    throw new TransientError(`${this.#id} sent a reply of more than ${this.#bytesMax} bytes; the rest was not read.`, {
      code: 'model_garbled',
    })
  }

  /** What the reply has used, by its end, although it may be none; null before its end. */
  get usage(): Usage | null {
    return this.#finish ? usageOf(this.#finish.usage) : null
  }

  /** The whole reply. Throws if the stream did not end as a reply ends. */
  end(): ModelReply {
    const content = this.#blocks.map(closed).filter((block) => block !== null)
    const finish = this.#finish
    const given = finish?.finishReason
    if (finish === undefined || given === undefined || (given === 'other' && finish.rawFinishReason === undefined)) {
      throw this.#broken('model_garbled', 'sent a reply without an end')
    }
    const ending = endingOf(given, finish.rawFinishReason)
    if (ending.kind === 'failed') {
      if (content.length === 0 && (given === 'interrupted' || given === 'error'))
        throw this.#broken('model_garbled', 'sent no reply that can be read')
      if (given === 'interrupted') throw this.#broken(ending.code, 'broke off in the middle of its reply')
      const word = given === 'error' ? '' : ` (finish reason ${JSON.stringify(finish.rawFinishReason?.slice(0, 100))})`
      throw this.#broken(ending.code, `ended its reply with an error${word}`)
    }
    const { reason } = ending
    if (reason === 'content-filter' && content.every(({ type }) => type === 'reasoning')) {
      throw new TerminalError(`${this.#id} refused the request: its content filter let nothing through.`, {
        code: 'model_refused',
        details: { model: this.#id },
      })
    }
    return {
      model: `${this.#id.split('/', 1)[0]}/${withoutKnownSecrets(wellFormed(finish.response.modelId))}`,
      content,
      finishReason: reason,
      usage: usageOf(finish.usage),
    }
  }

  #broken(code: FailedCallCode, what: string): TransientError {
    return new TransientError(`${this.#id} ${what}.`, { code, details: { model: this.#id } })
  }
}

function closed(block: OpenText | ToolCallBlock): AssistantBlock | null {
  if (block.type === 'tool-call') return block
  const providerOptions: ProviderOptions | undefined = providerOptionsOf(block.metadata)
  const text = block.joiner.text
  if (text === '' && providerOptions === undefined) return null
  return { type: block.type, text, ...(providerOptions === undefined ? {} : { providerOptions }) }
}

/** The arguments as JSON. If the SDK could not parse them, it passes them on as text. */
function argumentsOf(part: CallPart, written: string | undefined): Pick<ToolCallBlock, 'input' | 'inputText'> {
  const input: unknown = part.input
  if (part.invalid === true && typeof input === 'string') {
    const inputText = written ?? input
    return inputText.trim() === '' ? { input: {} } : { input: null, inputText: wellFormed(inputText) }
  }
  // A value that is nested so deeply can be read but not written again.
  if (isDeeperThan(input, policy.jsonDepthMax)) {
    return { input: null, inputText: wellFormed(written ?? 'arguments nested too deeply') }
  }
  return { input: wellFormed(exactInput(input, written)) }
}

function usageOf({ inputTokens, outputTokens, inputTokenDetails, outputTokenDetails }: FinishPart['usage']): Usage {
  const { cacheReadTokens, cacheWriteTokens } = inputTokenDetails
  const { reasoningTokens } = outputTokenDetails
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    ...(cacheReadTokens === undefined ? {} : { cacheReadTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
  }
}

/** The arguments with all digits of their numbers, which the SDK has parsed and lost. */
function exactInput(input: unknown, written: string | undefined): Json {
  try {
    const isParsed = typeof input === 'number' || (typeof input === 'object' && input !== null)
    if (isParsed && written !== undefined) return parseExactJson(written)
  } catch {
    // The SDK has mended what the model wrote.
  }
  return (input ?? {}) as Json
}
