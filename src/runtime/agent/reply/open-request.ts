/**
 * Duty: count the tokens of a request whose reply is not there yet, as its provider names them.
 * OPEN-REQUEST-1 They count if the request fails, or is broken off: they were paid. The reply brings its own usage, which counts in their place.
 */
import type { Usage } from '../../../core/history/chat/chat-message.ts'
import { credibleUsage, noUsage, type SomeUsage, tokensSince } from '../../../core/worker/run/usage.ts'
import type { Journal } from '../journal.ts'

export class OpenRequest {
  readonly #journal: Journal
  #counted: SomeUsage = noUsage

  /** Counts the request itself. */
  constructor(journal: Journal) {
    this.#journal = journal
    journal.countRequest()
  }

  /** `usage`: all that it has used so far. */
  used(usage: Usage): void {
    this.#count(credibleUsage(usage))
  }

  /** Its reply is there. */
  replied(): void {
    this.#count(noUsage)
  }

  #count(usage: SomeUsage): void {
    this.#journal.countTokens(tokensSince(usage, this.#counted))
    this.#counted = usage
  }
}
