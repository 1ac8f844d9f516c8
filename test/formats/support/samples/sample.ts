/** A conversation in a format as the designs and the interfaces have it, and what is read of it. */
import type { ChatMessage } from '../../../../src/core/history/chat/chat-message.ts'

export type Sample = readonly [what: string, format: string, given: unknown, shape: readonly string[]]

type Block = Extract<ChatMessage, { type: 'user' | 'assistant' }>['content'][number]

/** In short: `user: text`, `assistant: text | calls t {"a":1}`, `t ok: done`. */
export const shape = (messages: readonly ChatMessage[]) => messages.map(shapeOf)

function shapeOf(message: ChatMessage): string {
  switch (message.type) {
    case 'system':
    case 'summary':
      return `${message.type}: ${message.text}`
    case 'error':
      return `error: ${message.message}`
    case 'toolResult': {
      const { output, toolName, status } = message
      return `${toolName} ${status}: ${typeof output.value === 'string' ? output.value : JSON.stringify(output.value)}`
    }
    case 'user':
    case 'assistant':
      return `${message.type}: ${message.content.map(blockOf).join(' | ')}`
  }
}

function blockOf(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'reasoning':
      return `(${block.text})`
    case 'tool-call':
      return `calls ${block.toolName} ${block.inputText ?? JSON.stringify(block.input)}`
    case 'file':
      return `[file ${block.mediaType}]`
    default:
      return `[${block.type} ${block.mediaType}]`
  }
}

export const lines = (...objects: readonly unknown[]) => objects.map((one) => JSON.stringify(one)).join('\n')
