/**
 * Duty: messages of Anthropic.
 * ANTHROPIC-1 User and assistant alternate, and a user begins. The results of all calls of a reply stand at the beginning of the next message.
 */
import type {
  AssistantBlock,
  FinishReason,
  Json,
  MediaBlock,
  ReasoningBlock,
  ToolResultMessage,
  UserBlock,
} from '../../core/history/chat/chat-message.ts'
import type { Format } from '../format.ts'
import { argumentsObject } from '../parts/arguments.ts'
import { dataOf, mediaAt } from '../parts/data-uri.ts'
import type { Foreign } from '../parts/foreign.ts'
import { callIdFor, toolNameFor } from '../parts/portable.ts'
import { areTextBlocks, blocksOf, looked, messagesIn, wholeOf } from '../parts/role-list.ts'
import {
  errorOutput,
  meaningOf,
  modelOf,
  optionOf,
  optionsOf,
  type Reply,
  type Said,
  textBlocks,
  textOutput,
} from '../parts/said.ts'
import { alternating, joined, lastModel, noteOf, outputText, turnsOf, twoSided, withoutNone } from '../parts/turns.ts'
import { noAudio, objectsOnly, ofRequests, strictNames, textResults } from '../parts/wire-losses.ts'

type Fields = Readonly<Record<string, Json>>

const roles = ['user', 'assistant', 'system'] as const
const blockTypes = new Set<unknown>(['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'document'])
/** The images that it takes as bytes. */
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const finishReasons = {
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool-calls',
  refusal: 'content-filter',
} as const

export const anthropic: Format = {
  name: 'anthropic',
  title: 'Anthropic messages',
  form: 'a JSON object `{system?, messages, model?}`, the body of a request',
  losses: {
    ...ofRequests,
    ...noAudio,
    ...objectsOnly,
    ...textResults,
    ...strictNames,
    neighbours: 'become one message',
    laterSystem: 'are said at the beginning',
    names: 'left out',
    images: 'those that are not PNG, JPEG, GIF or WebP become a note in the text',
    reasoning: 'left out: Anthropic takes only reasoning that it signed',
    signedReasoning: 'left out if another provider signed it, or if it ends a reply',
    reasoningOrder: 'at the end of a reply it is left out',
    signatures: 'left out',
    files: 'PDFs stay; other files become a note in the text',
    cancelledResults: 'become failures',
    unknownResults: 'become failures',
  },
  fits(source) {
    const whole = wholeOf(source)
    if (whole.type === 'message' && whole.role === 'assistant' && Array.isArray(whole.content)) return true
    const items = looked(source)
    const hasSystem = typeof whole.system === 'string' || Array.isArray(whole.system)
    return (
      (hasSystem && Array.isArray(whole.messages)) ||
      (/claude/.test(String(whole.model)) &&
        Array.isArray(whole.messages) &&
        ('max_tokens' in whole || areTextBlocks(items))) ||
      blocksOf(items).some(({ type, source: from }) => blockTypes.has(type) || (type === 'image' && from !== undefined))
    )
  },
  read(source, said) {
    const { whole } = source
    const model = whole?.isObject ? modelOf('anthropic', whole.field('model').textIfAny()) : undefined
    if (whole?.has('system')) readSystem(whole.field('system'), said)
    for (const message of messagesIn(source)) readMessage(message, said, model)
  },
  write(messages) {
    const { system, turns } = alternating(turnsOf(messages))
    const sides = twoSided(turns, { result: writtenResult, user: writtenUserBlock, reply: writtenReplyBlock })
    const written = sides.map(({ isReply, parts }) =>
      isReply ? { role: 'assistant', content: withoutLastThoughts(parts) } : { role: 'user', content: parts },
    )
    return {
      json: withoutNone({
        ...lastModel(messages, 'anthropic'),
        system: system.length > 1 ? system.map((text) => ({ type: 'text', text })) : system[0],
        messages: written,
      }),
    }
  },
}

function readSystem(system: Foreign, said: Said): void {
  const texts = system.isList ? system.items().map((block) => block.field('text').text()) : [system.textIfAny() ?? '']
  for (const text of texts) if (text !== '') said.system(text)
}

function readMessage(message: Foreign, said: Said, model: string | undefined): void {
  const role = message.field('role').word(roles)
  const content = message.field('content')
  if (role === 'system') {
    readSystem(content, said)
    return
  }
  const blocks = content.isList ? content.items() : []
  if (role === 'user') {
    // Results come first, whatever the order: they answer the reply before.
    const more = blocks.flatMap((block) =>
      block.field('type').text() === 'tool_result' ? readResult(block, said) : userBlock(block, said),
    )
    const text = content.isList ? more : textBlocks(content.textIfAny())
    if (text.length > 0 || blocks.length === 0) said.user(text)
    return
  }
  const reply: Reply = {
    model: modelOf('anthropic', message.field('model').textIfAny()) ?? model,
    ...replyFacts(message),
  }
  said.assistant(
    content.isList ? blocks.flatMap((block) => replyBlock(block, said)) : textBlocks(content.textIfAny()),
    reply,
  )
}

function replyFacts(message: Foreign): Reply {
  const finishReason = meaningOf<FinishReason>(finishReasons, message.field('stop_reason').value)
  const usage = message.field('usage')
  return {
    id: message.field('id').isText ? message.field('id').text() : undefined,
    finishReason,
    usage: usage.isObject
      ? { inputTokens: usage.field('input_tokens').numberOr0(), outputTokens: usage.field('output_tokens').numberOr0() }
      : undefined,
  }
}

/** Media in a result stand behind it, as the word of the user. */
function readResult(block: Foreign, said: Said): UserBlock[] {
  const content = block.field('content')
  const parts = content.isList ? content.items() : []
  const isText = (part: Foreign) => part.field('type').value === 'text'
  const value = content.isList
    ? parts
        .filter(isText)
        .map((part) => part.field('text').text())
        .join('\n')
    : (content.textIfAny() ?? '')
  const isError = block.field('is_error').value === true
  said.result(
    { id: block.field('tool_use_id').text() },
    isError ? 'error' : 'ok',
    isError ? errorOutput(value) : textOutput(value),
  )
  return parts.filter((part) => !isText(part)).flatMap((part) => userBlock(part, said))
}

function userBlock(block: Foreign, said: Said): UserBlock[] {
  const type = block.field('type').text()
  if (type === 'text') return textBlocks(block.field('text').text())
  if (type === 'image' || type === 'document') {
    const source = block.field('source')
    const sort = source.field('type').value
    if (sort === 'text') return textBlocks(source.field('data').text())
    const mediaType = source.field('media_type').textIfAny() ?? (type === 'image' ? 'image/*' : 'application/pdf')
    const url =
      sort === 'base64' ? `data:${mediaType};base64,${source.field('data').text()}` : source.field('url').textIfAny()
    if (url !== undefined && type === 'image') return [mediaAt('image', url, mediaType)]
    const filename = block.field('title').textIfAny()
    if (url !== undefined) return [{ type: 'file', mediaType, url, ...(filename !== undefined && { filename }) }]
  }
  said.leaveOut(block, `a block of type "${type}"`)
  return []
}

function replyBlock(block: Foreign, said: Said): AssistantBlock[] {
  const type = block.field('type').text()
  switch (type) {
    case 'text':
      return textBlocks(block.field('text').text())
    case 'tool_use': {
      const input = block.field('input')
      return [
        said.call(block.field('id').textIfAny(), block.field('name').text(), {
          value: input.isNone ? {} : input.json(),
        }),
      ]
    }
    case 'thinking':
      return [
        {
          type: 'reasoning',
          text: block.field('thinking').text(),
          ...optionsOf('anthropic', { signature: block.field('signature').textIfAny() }),
        },
      ]
    case 'redacted_thinking':
      return [{ type: 'reasoning', text: '', ...optionsOf('anthropic', { redactedData: block.field('data').text() }) }]
    default:
      said.leaveOut(block, `a block of type "${type}"`)
      return []
  }
}

function writtenResult(result: ToolResultMessage): Json {
  const failed = result.status === 'ok' ? {} : { is_error: true }
  return { type: 'tool_result', tool_use_id: callIdFor(result.toolCallId), content: outputText(result), ...failed }
}

function writtenUserBlock(block: UserBlock): Json {
  if (block.type === 'text') return { type: 'text', text: block.text }
  if (block.type === 'image' && (block.data === undefined || imageTypes.has(block.mediaType)))
    return { type: 'image', source: writtenSource(block) }
  if (block.type === 'file' && block.mediaType === 'application/pdf') {
    const title = block.filename === undefined ? {} : { title: block.filename }
    const inline = dataOf(block.url)
    const data = inline === null ? {} : { data: inline.data }
    return { type: 'document', source: writtenSource({ ...block, ...data }), ...title }
  }
  return { type: 'text', text: noteOf(block) }
}

function writtenSource({ mediaType, data, url }: Pick<MediaBlock, 'mediaType' | 'data' | 'url'>): Json {
  return data === undefined ? { type: 'url', url: url ?? '' } : { type: 'base64', media_type: mediaType, data }
}

function writtenReplyBlock(block: AssistantBlock): Json[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: joined([block]) }]
    case 'tool-call':
      return [
        {
          type: 'tool_use',
          id: callIdFor(block.toolCallId),
          name: toolNameFor(block.toolName),
          input: argumentsObject(block) as Json,
        },
      ]
    case 'reasoning':
      return writtenThinking(block)
  }
}

/** Anthropic refuses a reply that ends with reasoning. */
function withoutLastThoughts(parts: readonly Json[]): Json[] {
  const isThought = (part: Json) => ['thinking', 'redacted_thinking'].includes((part as Fields).type as string)
  return parts.slice(0, parts.findLastIndex((part) => !isThought(part)) + 1)
}

/** Anthropic takes only reasoning that it signed. */
function writtenThinking({ text, providerOptions }: ReasoningBlock): Json[] {
  const data = optionOf(providerOptions, 'anthropic', 'redactedData')
  if (data !== undefined) return [{ type: 'redacted_thinking', data }]
  const signature = optionOf(providerOptions, 'anthropic', 'signature')
  return signature === undefined ? [] : [{ type: 'thinking', thinking: text, signature }]
}
