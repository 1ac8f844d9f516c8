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
} from './chat/chat-message.ts'
import { outputTextOf } from './chat/media.ts'

/** Results of tools that follow each other, in their order. */
export interface ToolResults {
  readonly type: 'toolResults'
  readonly results: readonly ToolResultMessage[]
}

/** Exactly one side is set. Everything that the model did not say itself is on the user's side: inputs, results of tools, summaries. */
export type ConversationEntry =
  | { readonly user: UserMessage | ToolResults | SummaryMessage; readonly assistant: null }
  | { readonly user: null; readonly assistant: AssistantMessage }

/** System messages and errors have no side. Results that follow each other are one entry, as the results of one reply are. */
export function entriesOf(messages: readonly ChatMessage[]): ConversationEntry[] {
  const entries: ConversationEntry[] = []
  let results: ToolResultMessage[] | null = null
  for (const message of messages) {
    if (message.type === 'system' || message.type === 'error') continue
    if (message.type === 'toolResult') {
      if (results === null) {
        results = []
        entries.push({ user: { type: 'toolResults', results }, assistant: null })
      }
      results.push(message)
      continue
    }
    results = null
    entries.push(message.type === 'assistant' ? { user: null, assistant: message } : { user: message, assistant: null })
  }
  return entries
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
      return outputTextOf(message.output)
    case 'user':
    case 'assistant':
      return textOf(message.content)
  }
}
