/**
 * Duty: count a request whose reply is not there yet, and its tokens as its provider names them.
 * OPEN-REQUEST-1 Tokens count if the request fails, is broken off, or its reply is dropped: they were paid. A reply that is recorded brings its own usage, which
 *                counts in their place.
 * OPEN-REQUEST-2 A request that a busy provider refused does not count, unless tokens were named: no model answered, and it will be made again.
 * OPEN-REQUEST-3 A request that never left does not count, if its model can tell: nobody was asked.
 */
import type { Model } from '../../../core/definition/model.ts'
import type { RuntimeError } from '../../../core/errors.ts'
import type { Usage } from '../../../core/history/chat/chat-message.ts'
import { credibleUsage, noUsage, type SomeUsage, tokensSince } from '../../../core/worker/run/usage.ts'
import type { Journal } from '../journal.ts'

export class OpenRequest {
  readonly #journal: Journal
  #isSent = false
  #counted: SomeUsage = noUsage

  constructor(journal: Journal, { tellsSent = false }: Model) {
    this.#journal = journal
    if (!tellsSent) this.sent()
  }

  /** Counts the request itself. */
  sent(): void {
    if (this.#isSent) return
    this.#isSent = true
    this.#journal.countRequest()
  }

  /** `usage`: all that it has used so far. */
  used(usage: Usage): void {
    this.sent()
    this.#count(credibleUsage(usage))
  }

  /** Its reply is recorded next. */
  replied(): void {
    this.sent()
    this.#count(noUsage)
  }

  /** It has no reply. */
  failed({ code }: RuntimeError): void {
    const { inputTokens = 0, outputTokens = 0 } = this.#counted
    if (this.#isSent && code === 'model_overloaded' && inputTokens + outputTokens === 0) this.#journal.takeBackRequest()
  }

  #count(usage: SomeUsage): void {
    this.#journal.countTokens(tokensSince(usage, this.#counted))
    this.#counted = usage
  }
}
