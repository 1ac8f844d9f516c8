/**
 * Duty: messages of troupe as messages of the AI SDK. Pure but for a cache: a history grows at its end, so each message is put into
 * the SDK's words once and found again under the same object.
 * P1 Whatever is recorded makes a valid request: halves of surrogate pairs are mended, arguments of calls are objects, names of tools
 *    are such as providers take, messages of which nothing is left are left out.
 * P2 Reasoning and opaque parts go back only to the model that made them: they are bound to it (often signed or encrypted).
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

  /** `modelId` is `provider/model`: whose reasoning is sent back. */
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
        : noPlace(block.type, url)
    }
    case 'file': {
      const { mediaType, url, filename } = block
      if (!URL.canParse(url)) return noPlace('file', url)
      const data = { type: 'url' as const, url: new URL(url) }
      return { type: 'file', mediaType, data, ...(filename === undefined ? {} : { filename: wellFormed(filename) }) }
    }
  }
}

/** Whoever sent it may be asked by the model; the conversation goes on (P1). */
function noPlace(what: string, url: string): UserPart {
  return { type: 'text', text: `(${what} left out: ${JSON.stringify(url.slice(0, 200).toWellFormed())} is no address)` }
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

/** Providers take only objects as arguments; anything else goes under a name of its own, as schemas that are no objects do. */
function inputOf({ input, inputText }: ToolCallBlock): unknown {
  if (inputText !== undefined) return { arguments: wellFormed(inputText) }
  if (isObject(input)) return wellFormed(input)
  return input === null ? {} : { arguments: wellFormed(input) }
}

/** A model may make up any name; a provider that gets one back which no tool can have refuses this and every later request. */
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

/** What a provider gave beside a part, if it is plain JSON, to be recorded and sent back. */
export function providerOptionsOf(metadata: unknown): ProviderOptions | undefined {
  if (typeof metadata !== 'object' || metadata === null) return undefined
  const plain = JSON.parse(JSON.stringify(metadata)) as Record<string, Json>
  const named = Object.entries(plain).filter(([, values]) => isObject(values))
  return named.length === 0 ? undefined : wellFormed(Object.fromEntries(named) as ProviderOptions)
}

/** A provider may answer under a longer name than it was asked by: with the date of the version. */
function isSameModel(one: string, other: string): boolean {
  return nameOf(one) === nameOf(other)
}

function nameOf(id: string): string {
  return id.replace(/[-@:](?:\d{4}-?\d{2}-?\d{2}|latest)$/, '')
}
