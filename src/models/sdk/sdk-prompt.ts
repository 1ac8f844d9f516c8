/**
 * Duty: convert messages of troupe to messages of the AI SDK. Pure except for a cache: a history grows at its end, so each message is converted
 * once and found again by its object.
 * SDK-PROMPT-1 Any recorded history gives a valid request: half surrogate pairs are replaced, arguments of calls are objects, names of tools have
 *              the form that providers accept, and messages without content are left out. Media are converted in sdk-media.ts.
 * SDK-PROMPT-2 Reasoning and opaque data go back only to the model that made them, because they are bound to it (often signed or encrypted).
 *              Ids of calls go back to it unchanged (call-id.ts).
 */

import type { ModelMessage } from 'ai'
import { isObject } from '../../core/check/is-object.ts'
import type { PromptMessage, PromptResult } from '../../core/definition/model.ts'
import type {
  AssistantBlock,
  Json,
  ProviderOptions,
  TextBlock,
  ToolCallBlock,
  ToolOutput,
  UserBlock,
} from '../../core/history/chat/chat-message.ts'
import { sentCallId } from '../http/call-id.ts'
import { wellFormed } from '../http/well-formed.ts'
import { imagesOver, type LeftOut, SdkMedia } from './sdk-media.ts'

type Content<Role extends ModelMessage['role']> = Exclude<Extract<ModelMessage, { role: Role }>['content'], string>
type UserPart = Content<'user'>[number]
type AssistantPart = Content<'assistant'>[number]
type ToolPart = Content<'tool'>[number]
type SdkOutput = Extract<ToolPart, { type: 'tool-result' }>['output']
type SdkOptions = NonNullable<ModelMessage['providerOptions']>

/** `isLast`: nothing more can be left out. */
export interface FewerMessages {
  readonly messages: ModelMessage[]
  readonly isLast: boolean
}

export class SdkPrompt {
  readonly #modelId: string
  readonly #media: SdkMedia
  #known = new WeakMap<PromptMessage, ModelMessage | null>()

  /** `modelId`: `provider/model`. Only reasoning of this model is sent back. */
  constructor(modelId: string) {
    this.#modelId = modelId
    this.#media = new SdkMedia(modelId)
  }

  messages(messages: readonly PromptMessage[]): ModelMessage[] {
    const over = imagesOver(messages)
    return messages
      .map((message, index) => this.#convert(message, messages[index - 1], over))
      .filter((message) => message !== null)
  }

  /**
   * The messages again, without media that the adapter has just refused to send. Null if the error has another reason.
   */
  withoutRefused(thrown: unknown, messages: readonly PromptMessage[]): FewerMessages | null {
    const left = this.#media.learn(thrown, messages)
    if (left === 'none') return null
    if (left === 'one') {
      this.#known = new WeakMap()
      return { messages: this.messages(messages), isLast: false }
    }
    const bare = messages.map((message, index) =>
      this.#toSdk(message, messages[index - 1], { withNone: true, over: imagesOver([]) }),
    )
    return { messages: bare.filter((message) => message !== null), isLast: true }
  }

  /** True if the provider's refusal says that this model takes no media of a kind that these messages hold. They are notes from now on. */
  learnFromProvider(refusal: string, messages: readonly PromptMessage[]): boolean {
    const hasLearned = this.#media.learnFromProvider(refusal, messages)
    if (hasLearned) this.#known = new WeakMap()
    return hasLearned
  }

  #convert(message: PromptMessage, before: PromptMessage | undefined, over: LeftOut['over']): ModelMessage | null {
    const known = this.#known.get(message)
    if (known !== undefined && over.size === 0) return known
    const converted = this.#toSdk(message, before, { withNone: false, over })
    // With more images, the same message may be sent in another way.
    if (over.size === 0) this.#known.set(message, converted)
    return converted
  }

  /** `before`: the message that precedes it. Results follow the message with their calls. */
  #toSdk(message: PromptMessage, before: PromptMessage | undefined, left: LeftOut): ModelMessage | null {
    switch (message.role) {
      case 'user':
        return { role: 'user', content: this.#toUserParts(message.content, left) }
      case 'assistant': {
        const isOwn = isSameModel(message.model, this.#modelId)
        const content = message.content.flatMap((block) => toAssistantPart(block, isOwn, this.#modelId))
        // Providers refuse reasoning that nothing follows: the reply was cut in the middle of it.
        while (content.at(-1)?.type === 'reasoning') content.pop()
        return content.length === 0 ? null : { role: 'assistant', content }
      }
      case 'tool':
        return this.#toSdkResults(message.results, before, left)
    }
  }

  #toUserParts(content: readonly UserBlock[], left: LeftOut): UserPart[] {
    const parts = content.map((block) => (block.type === 'text' ? toTextPart(block) : this.#media.part(block, left)))
    const isBare = parts.every(({ type }) => type !== 'text')
    // Bedrock refuses a document that no text stands beside.
    return isBare && this.#modelId.startsWith('amazon-bedrock/')
      ? [...parts, { type: 'text', text: '(see what is attached)' }]
      : parts
  }

  #toSdkResults(
    results: readonly PromptResult[],
    before: PromptMessage | undefined,
    left: LeftOut,
  ): ModelMessage | null {
    if (results.length === 0) return null
    const ids = this.#sentIds(before)
    const idOf = ({ toolCallId }: PromptResult) => ids.get(toolCallId) ?? sentCallId({ toolCallId }, false)
    return { role: 'tool', content: results.map((result) => this.#toToolPart(result, idOf(result), left)) }
  }

  #toToolPart({ toolName, output }: PromptResult, toolCallId: string, left: LeftOut): ToolPart {
    return {
      type: 'tool-result',
      toolCallId,
      toolName: sentName(toolName, this.#modelId),
      output: this.#toOutput(output, left),
    }
  }

  #toOutput(output: ToolOutput, left: LeftOut): SdkOutput {
    if (output.type !== 'content') return isBlankOutput(output) ? noOutput : wellFormed(output)
    const parts = output.value.map((block) =>
      block.type === 'text' ? toTextPart(block) : this.#media.resultPart(block, left),
    )
    const said = parts.filter((part) => part.type !== 'text' || part.text.trim() !== '')
    if (said.length === 0) return noOutput
    // Some protocols have only text in a result.
    return said.every((part) => part.type === 'text')
      ? { type: 'text', value: said.map(({ text }) => text).join('\n') }
      : ({ type: 'content', value: said } as SdkOutput)
  }

  /** The ids of the calls of this message as they are sent. */
  #sentIds(message: PromptMessage | undefined): ReadonlyMap<string, string> {
    if (message?.role !== 'assistant') return new Map()
    const isOwn = isSameModel(message.model, this.#modelId)
    return new Map(message.content.filter(isCall).map((call) => [call.toolCallId, sentCallId(call, isOwn)]))
  }
}

function isCall(block: AssistantBlock): block is ToolCallBlock {
  return block.type === 'tool-call'
}

function toTextPart(block: TextBlock): UserPart {
  return { type: 'text', text: wellFormed(block.text), ...optionsOf(block.providerOptions) }
}

/** Providers that refuse a blank text whatever comes with it. */
const takesNoBlanks = new Set(['openai', 'openai-chat', 'anthropic', 'amazon-bedrock'])

function toAssistantPart(block: AssistantBlock, isOwn: boolean, modelId: string): AssistantPart[] {
  const options: { providerOptions?: SdkOptions } = isOwn ? optionsOf(block.providerOptions) : {}
  switch (block.type) {
    case 'text': {
      const text = wellFormed(block.text)
      // Providers refuse a text that is only white space. A provider that signs such a text wants it back.
      const provider = modelId.split('/', 1)[0] as string
      const isWanted = options.providerOptions?.[provider] !== undefined && !takesNoBlanks.has(provider)
      return text.trim() === '' && !isWanted ? [] : [{ type: 'text', text, ...options }]
    }
    case 'reasoning':
      return isOwn ? [{ type: 'reasoning', text: wellFormed(block.text), ...options }] : []
    case 'tool-call':
      return [
        {
          type: 'tool-call',
          toolCallId: sentCallId(block, isOwn),
          toolName: sentName(block.toolName, modelId),
          input: inputOf(block),
          ...options,
        },
      ]
  }
}

/** Providers accept only objects as arguments. Any other value is sent under the name `arguments`, as its schema is (tool/input-form.ts). */
function inputOf({ input, inputText }: ToolCallBlock): unknown {
  if (inputText !== undefined) return { arguments: wellFormed(inputText) }
  if (isObject(input)) return wellFormed(input)
  return input === null ? {} : { arguments: wellFormed(input) }
}

/** A model may invent any tool name. A provider that gets an impossible name back would refuse this and every later request. */
function sentName(name: string, modelId: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_-]/g, '_') || 'unknown'
  // A name at Gemini begins with a letter.
  const whole = modelId.startsWith('google') && !/^[A-Za-z_]/.test(plain) ? `_${plain}` : plain
  return whole.slice(0, 64)
}

/** Some providers refuse a result whose text is blank. */
const noOutput = { type: 'text', value: '(no output)' } as const

function isBlankOutput({ value }: Exclude<ToolOutput, { type: 'content' }>): boolean {
  return typeof value === 'string' && value.trim() === ''
}

function optionsOf(options: ProviderOptions | undefined): { providerOptions?: SdkOptions } {
  return options === undefined ? {} : { providerOptions: wellFormed(options) as SdkOptions }
}

/** The metadata that a provider attached to a part, as plain JSON, to be recorded and sent back. */
export function providerOptionsOf(metadata: unknown): ProviderOptions | undefined {
  if (typeof metadata !== 'object' || metadata === null) return undefined
  const plain = JSON.parse(JSON.stringify(metadata)) as Record<string, Json>
  const named = Object.entries(plain).filter(([, values]) => isObject(values))
  return named.length === 0 ? undefined : wellFormed(Object.fromEntries(named) as ProviderOptions)
}

/** True for one model under two names, one of which ends with the date of its version. */
function isSameModel(one: string, other: string): boolean {
  return nameOf(one) === nameOf(other)
}

function nameOf(id: string): string {
  return id.replace(/[-@:](?:\d{4}-?\d{2}-?\d{2}|latest)$/, '')
}
