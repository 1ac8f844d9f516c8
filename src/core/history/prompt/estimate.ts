/**
 * Duty: estimate the size of a conversation without asking a provider, closely enough to see that it will not fit.
 * Bytes are those of UTF-8. Ids do not count.
 */

import type { PromptMessage, ToolSpec } from '../../definition/model.ts'
import type { AssistantBlock, ChatMessage, Json, ToolCallBlock, ToolOutput, UserBlock } from '../chat/chat-message.ts'
import { blobIdOf } from '../chat/media.ts'

const bytesPerToken = 4

/** The bytes that a model reads: texts, media in base64, names and arguments of calls, outputs, reasoning with its signed or encrypted data. */
export function estimatedBytes(message: ChatMessage): number {
  switch (message.type) {
    case 'system':
    case 'summary':
      return bytes(message.text)
    case 'error':
      return bytes(message.message)
    case 'user':
    case 'assistant':
      return sum(message.content, blockBytes)
    case 'toolResult':
      return bytes(message.toolName) + outputBytes(message.output, blockBytes)
  }
}

export function estimatedTokens(
  messages: readonly ChatMessage[],
  tools: readonly ToolSpec[],
  agentPrompt = '',
): number {
  const toolBytes = (tool: ToolSpec) =>
    bytes(tool.name) + bytes(tool.description) + bytes(JSON.stringify(tool.inputSchema))
  return Math.floor((bytes(agentPrompt) + sum(messages, estimatedBytes) + sum(tools, toolBytes)) / bytesPerToken)
}

/** The tokens that a message adds to a prompt. */
export function addedTokens(message: ChatMessage): number {
  if (message.type !== 'user' && message.type !== 'toolResult')
    return Math.floor(estimatedBytes(message) / bytesPerToken)
  const all =
    message.type === 'user'
      ? sum(message.content, promptBlockBytes)
      : bytes(message.toolName) + outputBytes(message.output, promptBlockBytes)
  return Math.floor(all / bytesPerToken)
}

/** The tokens of a prompt without its instructions and tools, by the same measure. */
export function promptTokens(messages: readonly PromptMessage[]): number {
  const messageBytes = (message: PromptMessage) =>
    message.role === 'tool'
      ? sum(message.results, ({ toolName, output }) => bytes(toolName) + outputBytes(output, promptBlockBytes))
      : sum<UserBlock | AssistantBlock>(message.content, promptBlockBytes)
  return Math.floor(sum(messages, messageBytes) / bytesPerToken)
}

/** The tokens of so many bytes, by the same measure. */
export function tokensIn(byteCount: number): number {
  return Math.floor(byteCount / bytesPerToken)
}

function blockBytes(block: UserBlock | AssistantBlock): number {
  switch (block.type) {
    case 'text':
      return bytes(block.text)
    case 'image':
    case 'audio':
      return bytes(block.data ?? block.url ?? '')
    case 'file':
      return bytes(block.url)
    case 'reasoning':
      return bytes(block.text) + secretBytes(block.providerOptions)
    case 'tool-call':
      return bytes(block.toolName) + argumentBytes(block)
    default:
      // A type that a newer version of troupe wrote. It is not part of a prompt.
      return 0
  }
}

/** Providers count a medium by what it shows or sounds like, and not by its bytes: an image of any size has at most about 1 600 tokens. */
const mediumBytesMost = 1_600 * bytesPerToken

function promptBlockBytes(block: UserBlock | AssistantBlock): number {
  const all = blockBytes(block)
  if (block.type !== 'image' && block.type !== 'audio') return all
  return blobIdOf(block) === null ? Math.min(all, mediumBytesMost) : mediumBytesMost
}

function outputBytes(output: ToolOutput, bytesOf: (block: UserBlock) => number): number {
  return output.type === 'content' ? sum(output.value, bytesOf) : jsonBytes(output.value)
}

function argumentBytes({ input, inputText }: ToolCallBlock): number {
  return inputText === undefined ? bytes(JSON.stringify(input)) : bytes(inputText)
}

/** Bytes of signatures and encrypted reasoning, which providers keep there beside ids. */
function secretBytes(value: unknown): number {
  if (typeof value === 'string') return bytes(value)
  if (typeof value !== 'object' || value === null) return 0
  return sum(Object.entries(value), ([key, part]) => (/id$/i.test(key) ? 0 : secretBytes(part)))
}

function jsonBytes(value: Json): number {
  return bytes(typeof value === 'string' ? value : JSON.stringify(value))
}

function bytes(text: string): number {
  return Buffer.byteLength(text)
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  let total = 0
  for (const item of items) total += of(item)
  return total
}
