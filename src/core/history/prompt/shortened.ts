/**
 * Duty: keep what made the prompts of a conversation shorter, in its order: summaries, and results that were cleared. The newest can be taken back.
 * SHORTENED-1 A step that could not be used stands for nothing, and so does the step that takes it back.
 */
import type { ConversationHistory } from '../history.ts'
import type { ContextSize } from './context-size.ts'

export class Shortened {
  readonly #history: ConversationHistory
  readonly #size: ContextSize
  /** The newest step is the last. Null: the step could not be used. */
  readonly #steps: ('compacted' | 'cleared' | null)[] = []

  constructor(history: ConversationHistory, size: ContextSize) {
    this.#history = history
    this.#size = size
  }

  /** True if a summary, or notes, stand for something. */
  get isAny(): boolean {
    return this.#steps.some((step) => step !== null)
  }

  /** Returns false if the prompt cannot be cut there. */
  compact(firstKept: string, texts: readonly string[]): boolean {
    return this.#add('compacted', this.#history.compact(firstKept, texts))
  }

  clear(firstKept: string): boolean {
    return this.#add('cleared', this.#history.clearResults(firstKept))
  }

  expand(): void {
    const step = this.#steps.pop()
    if (!step) return
    if (step === 'cleared') this.#history.restoreResults()
    else this.#history.expand()
    this.#size.restart(this.#history.prompt())
  }

  #add(step: 'compacted' | 'cleared', isUsed: boolean): boolean {
    this.#steps.push(isUsed ? step : null)
    if (isUsed) this.#size.restart(this.#history.prompt())
    return isUsed
  }
}
