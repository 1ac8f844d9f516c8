/**
 * Duty: a conversation: messages in the order they were said, and what follows from them: what a model is sent, which calls are
 * open. In memory only; the record is the worker's history in Redis.
 * H1 Messages are only ever appended, and never changed: a clone shares them and nothing else.
 * H2 Adding a message costs the same however long the history is.
 */

import type { PromptMessage, ToolSpec } from '../definition/model.ts'
import { InputError } from '../errors.ts'
import {
  type AssistantMessage,
  type ChatMessage,
  type ToolCallBlock,
  type ToolResultMessage,
  type ToolStatus,
  toolCallsOf,
} from './chat-message.ts'
import { type ConversationEntry, contentOf, entriesOf } from './conversation-entry.ts'
import { estimatedTokens } from './estimate.ts'
import { PromptFold } from './prompt-fold.ts'

export class ConversationHistory {
  #messages: ChatMessage[] = []
  #callIds = new Set<string>()
  #fold = new PromptFold()
  #lastAssistant: AssistantMessage | undefined

  static from(messages: Iterable<ChatMessage>): ConversationHistory {
    const history = new ConversationHistory()
    history.extend(messages)
    return history
  }

  /** A branch: what is added to one is not seen by the other. */
  clone(): ConversationHistory {
    const copy = new ConversationHistory()
    copy.#messages = [...this.#messages]
    copy.#callIds = new Set(this.#callIds)
    copy.#fold = this.#fold.clone()
    copy.#lastAssistant = this.#lastAssistant
    return copy
  }

  push(message: ChatMessage): void {
    this.#messages.push(message)
    if (message.type === 'assistant') {
      this.#lastAssistant = message
      for (const call of toolCallsOf(message)) this.#callIds.add(call.toolCallId)
    }
    this.#fold.add(message)
  }

  extend(messages: Iterable<ChatMessage>): void {
    for (const message of messages) this.push(message)
  }

  /**
   * An assistant message together with the results of all its calls, which are put into call order: all of them or nothing.
   * Throws an InputError where calls and results do not match one to one.
   */
  pushAssistantTurn(message: AssistantMessage, results: readonly ToolResultMessage[]): void {
    const byId = new Map(results.map((result) => [result.toolCallId, result]))
    const ordered = toolCallsOf(message).map(({ toolCallId, toolName }) => {
      const result = byId.get(toolCallId)
      if (result === undefined || !byId.delete(toolCallId))
        throw new InputError(
          `message ${message.id}: call ${toolCallId} of tool "${toolName}" has no result; a turn is added with the results of all its calls.`,
        )
      return result
    })
    if (ordered.length !== results.length) {
      const extra = results.find((result) => !ordered.includes(result))
      throw new InputError(
        `message ${message.id}: result ${extra?.id} is for call ${extra?.toolCallId}, which this message does not make or which has a result already.`,
      )
    }
    this.push(message)
    this.extend(ordered)
  }

  get length(): number {
    return this.#messages.length
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0
  }

  get(index: number): ChatMessage | undefined {
    return this.#messages[index]
  }

  get last(): ChatMessage | undefined {
    return this.#messages.at(-1)
  }

  /** The newest assistant message, whatever came after it. */
  get lastAssistant(): AssistantMessage | undefined {
    return this.#lastAssistant
  }

  /** What the last message says, as text. */
  get lastContent(): string | undefined {
    return this.last && contentOf(this.last)
  }

  /** Not a copy: it grows with the history. */
  get messages(): readonly ChatMessage[] {
    return this.#messages
  }

  /** The same with a user and an assistant side: one of the two is set in each. */
  entries(): ConversationEntry[] {
    return entriesOf(this.#messages)
  }

  /** Calls of the newest assistant message that wait for a result, in call order. None once something else was said. */
  openCalls(): readonly ToolCallBlock[] {
    return this.#fold.openCalls()
  }

  get openCount(): number {
    return this.#fold.openCount
  }

  /** Was this id ever given to a call? */
  hasCall(toolCallId: string): boolean {
    return this.#callIds.has(toolCallId)
  }

  /** Nothing after this moment will answer the open calls: prompts say this of them. It is no message, and not recorded. */
  closeCalls(status: ToolStatus, text: string): void {
    this.#fold.closeCalls({ type: status === 'ok' ? 'text' : 'error-text', value: text })
  }

  /** What a model is sent. Parts that nothing was added to are the same objects as in the prompt before. */
  prompt(): readonly PromptMessage[] {
    return this.#fold.messages()
  }

  /** About how many tokens it has, with the tools that are sent along. */
  estimatedTokens(tools: readonly ToolSpec[] = []): number {
    return estimatedTokens(this.#messages, tools)
  }

  /** Another conversation that begins anew: system messages only. This one is as before. */
  clearConversation(): ConversationHistory {
    return ConversationHistory.from(this.#messages.filter(({ type }) => type === 'system'))
  }

  /** A list that does not grow with the history. */
  toVec(): ChatMessage[] {
    return [...this.#messages]
  }

  /** `ConversationHistory.from(JSON.parse(JSON.stringify(history)))` is the same conversation. */
  toJSON(): readonly ChatMessage[] {
    return this.#messages
  }
}
