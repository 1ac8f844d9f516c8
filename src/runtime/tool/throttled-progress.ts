/**
 * Duty: limit the rate of progress: publish the newest value at most once in `everyMs`, and always the last one.
 * PROGRESS-1 If `publish` throws, the tool does not notice.
 */
import { performance } from 'node:perf_hooks'

export class ThrottledProgress {
  readonly #publish: (value: unknown) => void
  readonly #everyMs: number
  #publishedAt = Number.NEGATIVE_INFINITY
  #waiting: { readonly value: unknown } | null = null
  #timer: NodeJS.Timeout | null = null
  #closed = false

  constructor(publish: (value: unknown) => void, everyMs: number) {
    this.#publish = publish
    this.#everyMs = everyMs
  }

  push(value: unknown): void {
    if (this.#closed) return
    this.#waiting = { value }
    // The clock decides, not the timer: no timer fires while a tool computes without a pause.
    const inMs = this.#publishedAt + this.#everyMs - performance.now()
    if (inMs <= 0) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), inMs)
  }

  /** Publishes the value that waits. Nothing is published later. */
  close(): void {
    this.#closed = true
    this.#flush()
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const waiting = this.#waiting
    if (waiting === null) return
    this.#waiting = null
    this.#publishedAt = performance.now()
    try {
      this.#publish(waiting.value)
    } catch {
      // A failing listener must not disturb the tool.
    }
  }
}
