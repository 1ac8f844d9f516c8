/**
 * Duty: create messages of a conversation by hand, for tests and for conversations that begin elsewhere.
 * FACTORY-1 Only the result of a tool names a call.
 * FACTORY-2 Nothing here reads a clock: a message has the time that the caller gives, or 0, which means that nobody knows it.
 * FACTORY-3 A message without an id gets its position as its id when it joins a conversation (history.ts).
 */
import type {
  AssistantBlock,
  AssistantMessage,
  Json,
  SystemMessage,
  ToolResultMessage,
  UserBlock,
  UserMessage,
} from './chat-message.ts'

/** What a caller may say of any message: its id in the conversation, and when it was said (milliseconds since 1970). */
export interface MadeHead {
  readonly id?: string
  readonly at?: number
}

/** For example `chat.user('hello')`. A plain text becomes one text block. */
export const chat = {
  system(text: string, head: MadeHead = {}): SystemMessage {
    return { type: 'system', ...headOf(head), text }
  },

  /** `name`: the name of the person who says it. */
  user(
    content: string | readonly UserBlock[],
    { name, ...head }: MadeHead & { readonly name?: string } = {},
  ): UserMessage {
    return { type: 'user', ...headOf(head), ...(name !== undefined && { name }), content: blocksOf(content) }
  },

  /** A reply with unknown usage, which counts as 0 tokens. `model`: `provider/model`. */
  assistant(
    content: string | readonly AssistantBlock[],
    { model = 'unknown/unknown', ...head }: MadeHead & { readonly model?: string } = {},
  ): AssistantMessage {
    const blocks = blocksOf(content)
    const finishReason = blocks.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop'
    const usage = { inputTokens: 0, outputTokens: 0 }
    return { type: 'assistant', ...headOf(head), model, content: blocks, finishReason, usage }
  },

  /** The result of a call: text, or any other JSON. */
  tool(
    toolCallId: string,
    output: Json,
    { toolName = '', ...head }: MadeHead & { readonly toolName?: string } = {},
  ): ToolResultMessage {
    const value =
      typeof output === 'string'
        ? ({ type: 'text', value: output } as const)
        : ({ type: 'json', value: output } as const)
    return { type: 'toolResult', ...headOf(head), toolCallId, toolName, status: 'ok', output: value }
  },
} as const

function headOf({ id = '', at = 0 }: MadeHead): { readonly id: string; readonly at: number } {
  return { id, at }
}

function blocksOf<Block>(
  content: string | readonly Block[],
): readonly (Block | { readonly type: 'text'; readonly text: string })[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}
