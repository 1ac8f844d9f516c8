/**
 * Duty: create messages of a conversation by hand, for tests and for conversations that begin elsewhere.
 * FACTORY-1 Only the result of a tool names a call.
 * FACTORY-2 The caller provides the id and the time of each message, because nothing here reads a clock.
 */
import type {
  AssistantBlock,
  AssistantMessage,
  Json,
  MessageHead,
  SystemMessage,
  ToolCallBlock,
  ToolResultMessage,
  UserBlock,
  UserMessage,
} from './chat-message.ts'

/** For example `chat.user({ id: 'm1', at: Date.now() }, 'hello')`. A plain text becomes one text block. */
export const chat = {
  system(head: MessageHead, text: string): SystemMessage {
    return { type: 'system', ...head, text }
  },

  user(head: MessageHead, content: string | readonly UserBlock[]): UserMessage {
    return { type: 'user', ...head, content: blocksOf(content) }
  },

  /** A reply with unknown usage, which counts as 0 tokens. */
  assistant(head: MessageHead, model: string, content: string | readonly AssistantBlock[]): AssistantMessage {
    const blocks = blocksOf(content)
    const finishReason = blocks.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop'
    return {
      type: 'assistant',
      ...head,
      model,
      content: blocks,
      finishReason,
      usage: { inputTokens: 0, outputTokens: 0 },
    }
  },

  /** The result of a call: text, or any other JSON. */
  tool(
    head: MessageHead,
    { toolCallId, toolName }: Pick<ToolCallBlock, 'toolCallId' | 'toolName'>,
    output: Json,
  ): ToolResultMessage {
    const value =
      typeof output === 'string'
        ? ({ type: 'text', value: output } as const)
        : ({ type: 'json', value: output } as const)
    return { type: 'toolResult', ...head, toolCallId, toolName, status: 'ok', output: value }
  },
} as const

function blocksOf<Block>(
  content: string | readonly Block[],
): readonly (Block | { readonly type: 'text'; readonly text: string })[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}
