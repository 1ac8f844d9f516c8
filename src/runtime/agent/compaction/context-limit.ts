/**
 * Duty: how many tokens the prompts of one kind may have on this node: as its author says, as a table says, or as its provider has shown.
 * Does not own: how large a prompt is (core/history/prompt/context-size.ts).
 */
import type { Model } from '../../../core/definition/model.ts'

export class ContextLimit {
  #tokens: number | null
  #hasAsked = false
  readonly #model: Model

  /** `given`: what the author of the kind says. */
  constructor(model: Model, given: number | undefined) {
    this.#model = model
    this.#tokens = given ?? null
    this.#hasAsked = given !== undefined
  }

  /** Null while nobody knows it. The table answers a little later, in time for the next request. */
  get tokens(): number | null {
    if (!this.#hasAsked) {
      this.#hasAsked = true
      this.#model.contextWindow?.().then(
        (tokens) => {
          this.#tokens ??= tokens
        },
        () => {},
      )
    }
    return this.#tokens
  }

  /** A prompt of this estimated size was too long for the provider. */
  learn(tokens: number): void {
    this.#tokens = Math.min(this.#tokens ?? tokens, Math.max(tokens, 1))
  }
}
