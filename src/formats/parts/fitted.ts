/**
 * Duty: make messages of other programs as small as a history takes them: large media become notes, long texts are cut with a note. If that is not
 * enough, small media become notes, too.
 * FITTED-1 A message that is small enough stays as it is.
 */
import type { AssistantBlock, ChatMessage, UserBlock } from '../../core/history/chat/chat-message.ts'
import { outputTextOf } from '../../core/history/chat/media.ts'
import { policy } from '../../core/policy.ts'
import { noteOf } from './turns.ts'

/** The entry around a message needs some bytes, and characters are escaped. */
const bytesMax = policy.messageBytesMax - 4_096
/** How many characters of each text stay in a message that is too large; half as many, and so on, if it has many texts. */
const charsMax = 100_000
const charsLeast = 100
const dataCharsMax = 10_000

export interface Fitted {
  readonly messages: readonly ChatMessage[]
  readonly warnings: readonly string[]
}

export function fittedMessages(messages: readonly ChatMessage[]): Fitted {
  const warnings: string[] = []
  const fitted = messages.map((message, index) => {
    if (fits(message)) return message
    const { what, smaller } = smallerOf(message)
    warnings.push(`message ${index} is larger than 1 MiB: ${what}.`)
    return smaller
  })
  return { messages: fitted, warnings }
}

/** The message as it fits, and what was done to it. */
function smallerOf(message: ChatMessage): { readonly what: string; readonly smaller: ChatMessage } {
  const smaller = withoutData(message, dataCharsMax)
  if (fits(smaller)) return { what: 'its media became notes', smaller }
  const cut = cutToFit(smaller)
  if (fits(cut)) return { what: 'its texts were cut', smaller: cut }
  // There are many small media.
  const bare = withoutData(message, 0)
  if (fits(bare)) return { what: 'its media became notes', smaller: bare }
  return { what: 'its media became notes, and its texts were cut', smaller: cutToFit(bare) }
}

function fits(message: ChatMessage): boolean {
  return bytesOf(message) <= bytesMax
}

function bytesOf(message: ChatMessage): number {
  return Buffer.byteLength(JSON.stringify(message))
}

/** Media and files with more than `charsMost` characters of data become notes. */
function withoutData(message: ChatMessage, charsMost: number): ChatMessage {
  if (message.type !== 'user') return message
  const content = message.content.map((block): UserBlock => {
    if (block.type === 'text') return block
    const data = block.type === 'file' ? block.url : block.data
    return (data?.length ?? 0) > charsMost ? { type: 'text', text: noteOf(block) } : block
  })
  return { ...message, content }
}

function cutToFit(message: ChatMessage): ChatMessage {
  let chars = charsMax
  let fitting = cut(message, chars)
  while (!fits(fitting) && chars > charsLeast) {
    chars = Math.floor(chars / 2)
    fitting = cut(message, chars)
  }
  return fitting
}

function cut(message: ChatMessage, chars: number): ChatMessage {
  switch (message.type) {
    case 'user':
      return { ...message, content: message.content.map((block) => cutBlock(block, chars)) }
    case 'assistant':
      return { ...message, content: message.content.map((block) => cutBlock(block, chars)) }
    case 'toolResult': {
      const type = message.output.type === 'error-text' ? 'error-text' : 'text'
      return { ...message, output: { type, value: cutText(outputTextOf(message.output), chars) } }
    }
    case 'error':
      return { ...message, message: cutText(message.message, chars) }
    case 'system':
    case 'summary':
      return { ...message, text: cutText(message.text, chars) }
  }
}

function cutBlock<Block extends UserBlock | AssistantBlock>(block: Block, chars: number): Block {
  if (block.type === 'text' || block.type === 'reasoning') return { ...block, text: cutText(block.text, chars) }
  if (block.type !== 'tool-call') return block
  const { inputText, input } = block
  const text = inputText ?? JSON.stringify(input)
  return text.length <= chars ? block : { ...block, input: null, inputText: cutText(text, chars) }
}

function cutText(text: string, chars: number): string {
  if (text.length <= chars) return text
  return `${text.slice(0, chars).toWellFormed()}\n(cut here: ${text.length - chars} characters more)`
}
