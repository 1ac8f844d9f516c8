/**
 * Duty: time limits of calls that are made by the thousand: one timer looks at all of them, a little late. A timer and a race of
 * promises for each would cost more than the rest of a call (bench/history.md).
 * DEADLINE-1 Time in which this process only computed does not count: an answer may have arrived that no code could read.
 */

import { performance } from 'node:perf_hooks'
import { type SwapItem, SwapList } from '../../core/swap-list.ts'

const lookEveryMs = 25
/** Between two looks, at most this much time counts. */
const countedMsMost = 4 * lookEveryMs

interface Waiting extends SwapItem {
  readonly until: number
  readonly givenMs: number
  readonly reject: (error: Error) => void
}

export class Deadlines {
  readonly #waiting = new SwapList<Waiting>()
  #timer: NodeJS.Timeout | undefined
  /** The clock stands still while the process computes, and while nobody waits. */
  #clock = 0
  #lookedAt = 0

  /**
   * Resolves with what the promise gives; rejects if it gives nothing within `ms`. A later result is dropped. `givenMs`: what the error names, if `ms` is
   * only what is left of that.
   */
  within<T>(promise: Promise<T>, ms: number, givenMs = ms): Promise<T> {
    return new Promise((resolve, reject) => {
      const now = performance.now()
      if (this.#timer === undefined) this.#begin(now)
      // What has passed since the last look will be counted at the next one.
      const since = Math.min(now - this.#lookedAt, countedMsMost)
      const waiting = { until: this.#clock + since + ms, givenMs, reject, index: -1 }
      this.#waiting.add(waiting)
      promise.then(
        (value) => {
          this.#waiting.remove(waiting)
          resolve(value)
        },
        (error: Error) => {
          this.#waiting.remove(waiting)
          reject(error)
        },
      )
    })
  }

  #begin(now: number): void {
    this.#lookedAt = now
    this.#timer = setInterval(() => this.#look(), lookEveryMs)
  }

  #look(): void {
    const now = performance.now()
    this.#clock += Math.min(now - this.#lookedAt, countedMsMost)
    this.#lookedAt = now
    for (const waiting of this.#waiting.list()) {
      if (this.#clock < waiting.until) continue
      this.#waiting.remove(waiting)
      waiting.reject(new Error(`no answer within ${Math.round(waiting.givenMs)} ms`))
    }
    if (this.#waiting.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
