/**
 * Duty: progress at a bearable rate: the newest value at most once in `everyMs`, and the last one always.
 * PG1 `tell` throwing changes nothing for the tool.
 */
import { performance } from 'node:perf_hooks'

export class ProgressGate {
  readonly #tell: (value: unknown) => void
  readonly #everyMs: number
  #toldAt = Number.NEGATIVE_INFINITY
  #waiting: { readonly value: unknown } | null = null
  #timer: NodeJS.Timeout | null = null
  #closed = false

  constructor(tell: (value: unknown) => void, everyMs: number) {
    this.#tell = tell
    this.#everyMs = everyMs
  }

  push(value: unknown): void {
    if (this.#closed) return
    this.#waiting = { value }
    // Asked of the clock and not of the timer: a tool that computes without a pause lets no timer fire.
    const inMs = this.#toldAt + this.#everyMs - performance.now()
    if (inMs <= 0) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), inMs)
  }

  /** Tells what waits; nothing is told later. */
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
    this.#toldAt = performance.now()
    try {
      this.#tell(waiting.value)
    } catch {
      // Who listens is no concern of the tool.
    }
  }
}
