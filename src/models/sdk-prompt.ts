/**
 * Duty: convert messages of troupe to messages of the AI SDK. Pure except for a cache: a history grows at its end, so each message is converted
 * once and found again by its object.
 * SDK-PROMPT-1 Any recorded history gives a valid request: half surrogate pairs are replaced, arguments of calls are objects, names of tools have
 *              the form that providers accept, and messages without content are left out.
 * SDK-PROMPT-2 Reasoning and opaque data go back only to the model that made them, because they are bound to it (often signed or encrypted).
 */

import type { ModelMessage } from 'ai'
import { isObject } from '../core/check/is-object.ts'
import type { PromptMessage, PromptResult } from '../core/definition/model.ts'
import type { AssistantBlock, Json, ProviderOptions, ToolCallBlock, UserBlock } from '../core/history/chat-message.ts'
import { wellFormed } from './well-formed.ts'

type Content<Role extends ModelMessage['role']> = Exclude<Extract<ModelMessage, { role: Role }>['content'], string>
type UserPart = Content<'user'>[number]
type AssistantPart = Content<'assistant'>[number]
type ToolPart = Content<'tool'>[number]
type SdkOptions = NonNullable<ModelMessage['providerOptions']>

export class SdkPrompt {
  readonly #modelId: string
  readonly #known = new WeakMap<PromptMessage, ModelMessage | null>()

  /** `modelId`: `provider/model`. Only reasoning of this model is sent back. */
  constructor(modelId: string) {
    this.#modelId = modelId
  }

  messages(messages: readonly PromptMessage[]): ModelMessage[] {
    return messages.map((message) => this.#convert(message)).filter((message) => message !== null)
  }

  #convert(message: PromptMessage): ModelMessage | null {
    const known = this.#known.get(message)
    if (known !== undefined) return known
    const converted = toSdkMessage(message, this.#modelId)
    this.#known.set(message, converted)
    return converted
  }
}

function toSdkMessage(message: PromptMessage, modelId: string): ModelMessage | null {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: message.content.map(toUserPart) }
    case 'assistant': {
      const isOwn = isSameModel(message.model, modelId)
      const content = message.content.flatMap((block) => toAssistantPart(block, isOwn))
      return content.length === 0 ? null : { role: 'assistant', content }
    }
    case 'tool':
      return message.results.length === 0 ? null : { role: 'tool', content: message.results.map(toToolPart) }
  }
}

function toUserPart(block: UserBlock): UserPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: wellFormed(block.text), ...optionsOf(block.providerOptions) }
    case 'image':
    case 'audio': {
      const { mediaType, data, url = '' } = block
      if (data !== undefined) return { type: 'file', mediaType, data: { type: 'data', data } }
      return URL.canParse(url)
        ? { type: 'file', mediaType, data: { type: 'url', url: new URL(url) } }
        : invalidAddress(block.type, url)
    }
    case 'file': {
      const { mediaType, url, filename } = block
      if (!URL.canParse(url)) return invalidAddress('file', url)
      const data = { type: 'url' as const, url: new URL(url) }
      return { type: 'file', mediaType, data, ...(filename === undefined ? {} : { filename: wellFormed(filename) }) }
    }
  }
}

/** Says in place of a file that its address is invalid. The model can then ask for it (SDK-PROMPT-1). */
function invalidAddress(what: string, url: string): UserPart {
  return {
    type: 'text',
    text: `(${what} left out: ${JSON.stringify(url.slice(0, 200).toWellFormed())} is not a valid address)`,
  }
}

function toAssistantPart(block: AssistantBlock, isOwn: boolean): AssistantPart[] {
  const options = isOwn ? optionsOf(block.providerOptions) : {}
  switch (block.type) {
    case 'text': {
      const text = wellFormed(block.text)
      return text === '' && !('providerOptions' in options) ? [] : [{ type: 'text', text, ...options }]
    }
    case 'reasoning':
      return isOwn ? [{ type: 'reasoning', text: wellFormed(block.text), ...options }] : []
    case 'tool-call':
      return [
        {
          type: 'tool-call',
          toolCallId: wellFormed(block.toolCallId),
          toolName: sentName(block.toolName),
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
function sentName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unknown'
}

function toToolPart({ toolCallId, toolName, output }: PromptResult): ToolPart {
  return {
    type: 'tool-result',
    toolCallId: wellFormed(toolCallId),
    toolName: sentName(toolName),
    output: wellFormed(output),
  }
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

/** A provider may answer with a longer name of the model, which ends with the date of its version. */
function isSameModel(one: string, other: string): boolean {
  return nameOf(one) === nameOf(other)
}

function nameOf(id: string): string {
  return id.replace(/[-@:](?:\d{4}-?\d{2}-?\d{2}|latest)$/, '')
}
