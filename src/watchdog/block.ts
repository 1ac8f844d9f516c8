/**
 * Duty: tell how long a node has not beaten, as looks at its beat show it.
 * WATCH-THREAD-1 Time in which nobody looked either (a stopped process, a machine that slept) is no block.
 */
export class Block {
  readonly #everyMs: number
  #lastBeat = -1
  #lastLook: number
  #ms = 0
  #isNamed = false

  /** `everyMs`: how often somebody looks, from `now` on. */
  constructor(everyMs: number, now: number) {
    this.#everyMs = everyMs
    this.#lastLook = now
  }

  /** How long it has lasted; 0: nothing blocks the node. */
  get ms(): number {
    return this.#ms
  }

  /** This block has been named. */
  get isNamed(): boolean {
    return this.#isNamed
  }

  look(beat: number, now: number): void {
    // A look counts no more time than this (WATCH-THREAD-1).
    const sinceMs = Math.min(now - this.#lastLook, 2 * this.#everyMs)
    this.#lastLook = now
    if (beat === this.#lastBeat) {
      this.#ms += sinceMs
      return
    }
    this.#lastBeat = beat
    this.#ms = 0
    this.#isNamed = false
  }

  /** True once for each block, when it has lasted for `afterMs`. */
  isToBeNamed(afterMs: number): boolean {
    if (this.#ms < afterMs || this.#isNamed) return false
    this.#isNamed = true
    return true
  }
}
