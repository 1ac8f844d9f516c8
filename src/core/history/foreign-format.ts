/**
 * Duty: say what is wrong with messages and content blocks that callers pass: which one, what is wrong, and of whose format it probably is.
 * FOREIGN-1 What is nearly right is refused with a sentence. It is never sent to a model as something else, and never dropped.
 */
import { isObject } from '../check/is-object.ts'
import { preview } from '../check/preview.ts'
import { fitTo } from '../check/schema-problems.ts'
import { isTime } from '../hours.ts'
import { isDeeperThan } from '../json.ts'
import { policy } from '../policy.ts'
import { readChatMessage } from './chat/chat-codec.ts'
import type { UserBlock } from './chat/chat-message.ts'
import { chatMessageSchema, userBlockSchema } from './chat/chat-schema.ts'
import { mediaProblem } from './chat/media.ts'

type Fields = Readonly<Record<string, unknown>>

const ownTypes = new Set<unknown>(['text', 'image', 'audio', 'file'])
/** Types that content blocks have in the formats of others. */
const foreignTypes: ReadonlyMap<unknown, string> = new Map([
  ['image_url', "OpenAI's chat completions"],
  ['input_audio', "OpenAI's chat completions"],
  ['video_url', "OpenAI's chat completions"],
  ['input_text', "OpenAI's responses"],
  ['input_image', "OpenAI's responses"],
  ['input_file', "OpenAI's responses"],
  ['document', 'Anthropic'],
  ['media', 'Gemini'],
])
/** Fields that blocks have in the formats of others. */
const foreignFields: readonly (readonly [field: string, format: string])[] = [
  ['source', 'Anthropic'],
  ['inlineData', 'Gemini'],
  ['inline_data', 'Gemini'],
  ['image_url', 'OpenAI'],
  ['file', 'OpenAI'],
  ['image', 'the AI SDK'],
  ['mimeType', 'an older AI SDK, or MCP'],
  ['mime_type', 'Gemini or LangChain'],
  ['media_type', 'Anthropic'],
]

const blockAdvice =
  "Write { type: 'text', text }, { type: 'image' or 'audio', mediaType, data (base64) or url }, or { type: 'file', mediaType, url }."

/**
 * Says which block of an input is wrong. Null if all are right, or if the input is no list of content blocks at all: then it is JSON like any
 * other.
 */
export function contentProblem(value: unknown): string | null {
  if (Array.isArray(value)) return contentProblem({ content: value })
  if (!isObject(value) || !Array.isArray(value.content) || value.content.length === 0) return null
  const keys = Object.keys(value)
  if (!keys.every((key) => key === 'content' || key === 'role')) return null
  const blocks: readonly unknown[] = value.content
  const isBlock = (block: unknown) => isObject(block) && (ownTypes.has(block.type) || foreignTypes.has(block.type))
  if (!blocks.every(isBlock) || isDeeperThan(value, policy.jsonDepthMax)) return null
  for (const [index, block] of blocks.entries()) {
    const problem = blockProblem(block as Fields)
    if (problem !== null) return `content[${index}] ${problem} ${blockAdvice}`
  }
  if (keys.length === 1) return mediaProblem(blocks as readonly UserBlock[])
  return 'the field "role" does not belong to an input, which is always the word of a user: write { content: […] } alone.'
}

function blockProblem(block: Fields): string | null {
  const format = foreignTypes.get(block.type) ?? foreignFields.find(([field]) => block[field] !== undefined)?.[1]
  const seems = format === undefined ? '' : ` It looks like a block of ${format}.`
  if (foreignTypes.has(block.type)) return `has the type ${preview(block.type)}.${seems}`
  const fit = fitTo(userBlockSchema, block)
  if (!fit.ok) return `is wrong: ${fit.reasons.join('; ')}.${seems}`
  const hasNone =
    (block.type === 'image' || block.type === 'audio') && block.data === undefined && block.url === undefined
  return hasNone ? `has neither data nor url.${seems}` : null
}

/** Says what is wrong with a message of a conversation, by its index. Null if it is right. */
export function messageProblem(value: unknown, index: number): string | null {
  const problem = formProblem(value, index)
  if (problem !== null) return problem
  const { at } = value as Fields
  return isTime(at as number)
    ? null
    : `message ${index} has the time ${preview(at)}: \`at\` is in milliseconds since 1970.`
}

/** The same, but any number may be its time: a conversation with a wrong time can still be written. */
export function formProblem(value: unknown, index: number): string | null {
  if (readChatMessage(value) === null) return `message ${index} ${whatIsWrong(value)}`
  const { type, content } = value as Fields
  if (type !== 'user') return null
  for (const [at, block] of (content as readonly Fields[]).entries()) {
    const problem = ownTypes.has(block.type) ? blockProblem(block) : null
    if (problem !== null) return `message ${index}: content[${at}] ${problem} ${blockAdvice}`
  }
  return null
}

const messageAdvice =
  "Write { type: 'user', id, at, content: [{ type: 'text', text }] }, or make messages with chat.user, chat.assistant and chat.tool."

function whatIsWrong(value: unknown): string {
  if (!isObject(value)) return `is ${preview(value)} and no message. ${messageAdvice}`
  const format = messageFormat(value)
  if (format !== null) return `has no type of troupe. It looks like a message of ${format}. ${messageAdvice}`
  const fit = fitTo(chatMessageSchema, value)
  return `is wrong: ${fit.ok ? 'it is nested too deeply' : fit.reasons.join('; ')}. ${messageAdvice}`
}

const types = new Set<unknown>(['system', 'user', 'assistant', 'toolResult', 'error', 'summary'])

function messageFormat(message: Fields): string | null {
  if (types.has(message.type)) return null
  if (message.lc !== undefined || message.type === 'human' || message.type === 'ai') return 'LangChain'
  if (message.parts !== undefined)
    return message.role === 'model' ? 'Gemini' : 'Gemini, or of a user interface of the AI SDK'
  if (message.role !== undefined) return 'the AI SDK, OpenAI or Anthropic'
  return message.type === 'message' || message.type === 'function_call' ? "OpenAI's responses" : null
}
