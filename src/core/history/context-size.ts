/**
 * Duty: how many tokens the next prompt of a conversation has.
 * CONTEXT-SIZE-1 What a provider counted of a request and its reply is the size by then. What came since is estimated, at the same cost
 *                however long the conversation is.
 */
import type { PromptMessage } from '../definition/model.ts'
import { tokensOf } from '../worker/usage.ts'
import type { ChatMessage } from './chat-message.ts'
import { estimatedTokens, promptTokens } from './estimate.ts'

export class ContextSize {
  #tokens = 0

  /** With instructions and tools as soon as a provider has counted them. */
  get tokens(): number {
    return this.#tokens
  }

  add(message: ChatMessage): void {
    const counted = message.type === 'assistant' ? tokensOf(message.usage) : 0
    if (counted > 0) this.#tokens = counted
    else this.#tokens += estimatedTokens([message], [])
  }

  /** The prompt has become another one: nothing is counted of it yet. */
  restart(prompt: readonly PromptMessage[]): void {
    this.#tokens = promptTokens(prompt)
  }
}
