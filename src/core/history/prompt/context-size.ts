/**
 * Duty: how many tokens the next prompt of a conversation has.
 * CONTEXT-SIZE-1 What a provider counted of a request and its reply is the size by then. What came since is estimated only when somebody asks, and
 *                once: most conversations are never asked about.
 */
import type { PromptMessage } from '../../definition/model.ts'
import { tokensOf } from '../../worker/run/usage.ts'
import type { ChatMessage } from '../chat/chat-message.ts'
import { addedTokens, promptTokens } from './estimate.ts'

export class ContextSize {
  #tokens = 0
  /** Messages that are not in the sum yet. */
  #since: ChatMessage[] = []
  #restarts = 0

  /** How often the prompt has become another one, and not only longer. The same for the same history. */
  get restarts(): number {
    return this.#restarts
  }

  /** Instructions and tools are included as soon as a provider has counted them. */
  get tokens(): number {
    for (const message of this.#since) this.#tokens += addedTokens(message)
    this.#since = []
    return this.#tokens
  }

  add(message: ChatMessage): void {
    const counted = message.type === 'assistant' ? tokensOf(message.usage) : 0
    if (counted === 0) {
      this.#since.push(message)
      return
    }
    this.#tokens = counted
    if (this.#since.length > 0) this.#since = []
  }

  /** Begins anew, because the prompt has become another one: nothing is counted of it yet. */
  restart(prompt: readonly PromptMessage[]): void {
    this.#tokens = promptTokens(prompt)
    this.#since = []
    this.#restarts++
  }
}
