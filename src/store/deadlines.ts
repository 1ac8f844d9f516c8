/**
 * Duty: time limits of calls that are made by the thousand: one timer looks at all of them, a little late. A timer and a race of
 * promises for each would cost more than the rest of a call (decision 0013).
 */

import { performance } from 'node:perf_hooks'
import { Bag, type Baggable } from '../core/bag.ts'

const lookEveryMs = 25

interface Waiting extends Baggable {
  readonly until: number
  readonly ms: number
  readonly reject: (error: Error) => void
}

export class Deadlines {
  readonly #waiting = new Bag<Waiting>()
  #timer: NodeJS.Timeout | undefined

  /** What the promise gives; rejects when it has given nothing within `ms`. What it gives later is dropped. */
  within<T>(promise: Promise<T>, ms: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = { until: performance.now() + ms, ms, reject, place: -1 }
      this.#waiting.add(waiting)
      this.#timer ??= setInterval(() => this.#look(), lookEveryMs)
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

  #look(): void {
    const now = performance.now()
    for (const waiting of this.#waiting.list()) {
      if (now < waiting.until) continue
      this.#waiting.remove(waiting)
      waiting.reject(new Error(`no answer within ${Math.round(waiting.ms)} ms`))
    }
    if (this.#waiting.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
