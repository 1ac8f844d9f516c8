/**
 * Duty: read a message of a conversation from recorded JSON, including messages that a newer version of troupe wrote.
 * CODEC-1 Nothing is removed: unknown fields and unknown blocks are kept as data. An unknown word (a new finish reason or status) is read
 *         as the nearest known word.
 * CODEC-2 The schema decides what is a message. Entries of our own form skip it: thousands of entries are read whenever a worker moves
 *         to another node, and checking only the fields in use costs a small part of the schema. The check without the schema accepts nothing
 *         that the schema refuses.
 */

import { isObject } from '../../check/is-object.ts'
import { problemText } from '../../check/schema-problems.ts'
import { type Steering, steerings } from '../../worker/message/steer.ts'
import { type ChatMessage, finishReasons, toolStatuses } from './chat-message.ts'
import { chatMessageSchema } from './chat-schema.ts'

type Fields = Readonly<Record<string, unknown>>

/** Null for a value that is no message of a conversation, or that has an unknown type. Readers pass over it. */
export function readChatMessage(value: unknown): ChatMessage | null {
  if (!isObject(value)) return null
  if (isOurs(value)) return value as unknown as ChatMessage
  const understood = inKnownWords(value)
  try {
    return chatMessageSchema.safeParse(withKnownBlocks(understood)).success
      ? (understood as unknown as ChatMessage)
      : null
  } catch {
    // The value is nested so deeply that the stack overflowed. Nothing that troupe writes is nested so deeply.
    return null
  }
}

/** Says why these fields are no reply of a model that can be recorded; null if they are. */
export function replyProblem(reply: Fields): string | null {
  const message = { type: 'assistant', id: '', at: 0, ...reply }
  if (readChatMessage(message) !== null) return null
  const { error } = chatMessageSchema.safeParse(message)
  return error ? problemText(error) : 'it cannot be read'
}

const knownReasons = new Set<unknown>(finishReasons)
const knownStatuses = new Set<unknown>(toolStatuses)
const userTypes = new Set<unknown>(['text', 'image', 'audio', 'file'])
const assistantTypes = new Set<unknown>(['text', 'reasoning', 'tool-call'])

function isOurs(message: Fields): boolean {
  if (typeof message.id !== 'string' || !isNumber(message.at)) return false
  switch (message.type) {
    case 'system':
      return typeof message.text === 'string'
    case 'user':
      return (
        isOptionalText(message.from) &&
        isOptionalText(message.name) &&
        isOptionalFlag(message.nudge) &&
        (message.when === undefined || steerings.includes(message.when as Steering)) &&
        isOptionalText(message.about) &&
        areOptionalTexts(message.ended) &&
        isFacts(message.facts) &&
        isOptionalText(message.context) &&
        isListOf(message.content, isUserBlock)
      )
    case 'assistant':
      return (
        typeof message.model === 'string' &&
        isOptionalText(message.asked) &&
        isOptionalFlag(message.interrupted) &&
        knownReasons.has(message.finishReason) &&
        isUsage(message.usage) &&
        isListOf(message.content, isAssistantBlock)
      )
    case 'toolResult':
      return (
        typeof message.toolCallId === 'string' &&
        typeof message.toolName === 'string' &&
        knownStatuses.has(message.status) &&
        isOutput(message.output) &&
        isFacts(message.facts) &&
        isFailure(message.failure) &&
        isOptionalFlag(message.isBroken) &&
        isBlobRef(message.blob) &&
        isOptionalText(message.thrownAt)
      )
    case 'error':
      return typeof message.message === 'string'
    case 'summary':
      return typeof message.text === 'string' && isNumber(message.messagesCompacted)
    default:
      return false
  }
}

function isBlobRef(blob: unknown): boolean {
  return (
    blob === undefined ||
    (isObject(blob) && typeof blob.id === 'string' && typeof blob.mediaType === 'string' && isNumber(blob.bytes))
  )
}

function isUserBlock(block: Fields): boolean {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' && block.providerOptions === undefined
    case 'image':
    case 'audio':
      return (
        typeof block.mediaType === 'string' &&
        [block.data, block.url, block.filename].every((text) => isOptionalText(text))
      )
    case 'file':
      return typeof block.mediaType === 'string' && typeof block.url === 'string' && isOptionalText(block.filename)
    default:
      return false
  }
}

function isAssistantBlock(block: Fields): boolean {
  if (!isProviderOptions(block.providerOptions)) return false
  switch (block.type) {
    case 'text':
    case 'reasoning':
      return typeof block.text === 'string'
    case 'tool-call':
      return (
        typeof block.toolCallId === 'string' &&
        isOptionalText(block.givenId) &&
        typeof block.toolName === 'string' &&
        block.input !== undefined &&
        isOptionalText(block.inputText)
      )
    default:
      return false
  }
}

function isUsage(usage: unknown): boolean {
  if (!isObject(usage) || !isNumber(usage.inputTokens) || !isNumber(usage.outputTokens)) return false
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  return [cacheReadTokens, cacheWriteTokens, reasoningTokens].every((count) => count === undefined || isNumber(count))
}

function isOutput(output: unknown): boolean {
  if (!isObject(output)) return false
  if (output.type === 'json') return output.value !== undefined
  if (output.type === 'content') return isListOf(output.value, isUserBlock)
  return (output.type === 'text' || output.type === 'error-text') && typeof output.value === 'string'
}

/** Replaces words that a newer version added by the nearest known word. The record keeps the original word. */
function inKnownWords(message: Fields): Fields {
  if (
    message.type === 'assistant' &&
    typeof message.finishReason === 'string' &&
    !knownReasons.has(message.finishReason)
  )
    return { ...message, finishReason: 'other' }
  if (message.type === 'user' && typeof message.when === 'string' && !steerings.includes(message.when as Steering))
    return { ...message, when: 'steer' }
  if (message.type !== 'toolResult') return message
  const { status, output } = message
  return {
    ...message,
    ...(typeof status === 'string' && !knownStatuses.has(status) ? { status: 'unknown' } : {}),
    ...(isObject(output) && !['text', 'json', 'error-text', 'content'].includes(String(output.type))
      ? { output: { type: 'json', value: output } }
      : {}),
  }
}

/** The message without blocks of unknown types, which the schema would refuse. */
function withKnownBlocks(message: Fields): Fields {
  if (!Array.isArray(message.content)) return message
  const known = message.type === 'user' ? userTypes : assistantTypes
  const isKnown = (block: unknown) => !isObject(block) || typeof block.type !== 'string' || known.has(block.type)
  return { ...message, content: message.content.filter(isKnown) }
}

function isListOf(value: unknown, isItem: (item: Fields) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => isObject(item) && isItem(item))
}

function isNumber(value: unknown): boolean {
  return Number.isFinite(value)
}

function areOptionalTexts(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((item) => typeof item === 'string'))
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function isOptionalFlag(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean'
}

/** Options by provider, then by name. */
function isProviderOptions(value: unknown): boolean {
  return value === undefined || (isObject(value) && Object.values(value).every(isObject))
}

function isFacts(value: unknown): boolean {
  return value === undefined || isObject(value)
}

/** Why this call ended the run. Most calls did not. */
function isFailure(value: unknown): boolean {
  return value === undefined || (isObject(value) && typeof value.code === 'string' && typeof value.message === 'string')
}
