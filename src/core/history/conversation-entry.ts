/**
 * Duty: present a conversation to others: entries with one side each, and the text of any message. Everything follows from the messages;
 * nothing is stored.
 */
import {
  type AssistantMessage,
  type ChatMessage,
  type SummaryMessage,
  type ToolResultMessage,
  textOf,
  type UserMessage,
} from './chat-message.ts'

/** Exactly one side is set. Everything that the model did not say itself is on the user's side: inputs, results of tools, summaries. */
export type ConversationEntry =
  | { readonly user: UserMessage | ToolResultMessage | SummaryMessage; readonly assistant: null }
  | { readonly user: null; readonly assistant: AssistantMessage }

/** System messages and errors have no side. */
export function entriesOf(messages: readonly ChatMessage[]): ConversationEntry[] {
  return messages.flatMap((message): ConversationEntry[] => {
    if (message.type === 'system' || message.type === 'error') return []
    return message.type === 'assistant' ? [{ user: null, assistant: message }] : [{ user: message, assistant: null }]
  })
}

/** The text of a message. */
export function contentOf(message: ChatMessage): string {
  switch (message.type) {
    case 'system':
    case 'summary':
      return message.text
    case 'error':
      return message.message
    case 'toolResult':
      return typeof message.output.value === 'string' ? message.output.value : JSON.stringify(message.output.value)
    case 'user':
    case 'assistant':
      return textOf(message.content)
  }
}
