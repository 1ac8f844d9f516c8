/**
 * The timers of one duration that are begun from now on. `vi.getTimerCount()` counts all timers of the process: what tests before this one left behind
 * may begin some at any time. It puts back the functions that it found, which may be those of fake timers: `vi.spyOn` would restore them once more after
 * the test, when the real ones are back.
 */
export class WatchedTimers implements Disposable {
  readonly #ms: number
  readonly #found = { setTimeout, clearTimeout }
  readonly #begun = new Set<unknown>()
  readonly #cleared = new Set<unknown>()

  constructor(ms: number) {
    this.#ms = ms
    const { setTimeout: set, clearTimeout: clear } = this.#found
    const watchedSet = (...given: Parameters<typeof setTimeout>) => {
      const timer = set(...given)
      if (given[1] === this.#ms) this.#begun.add(timer)
      return timer
    }
    globalThis.setTimeout = Object.assign(watchedSet, set)
    globalThis.clearTimeout = (timer) => {
      this.#cleared.add(timer)
      clear(timer)
    }
  }

  /** How many of them were begun, and how many of these were not cleared. A timer that has fired was not cleared. */
  get counts(): { begun: number; left: number } {
    return { begun: this.#begun.size, left: this.#begun.difference(this.#cleared).size }
  }

  [Symbol.dispose](): void {
    Object.assign(globalThis, this.#found)
  }
}
