/**
 * Duty: keep a receiver that accepts nothing from taking all places for requests of this node, and all of its time.
 * RECEIVER-1 A receiver that did not accept its last request gets only a few at a time. Once it accepts a request, it may have all places again.
 * RECEIVER-2 What is too much for it comes again one after the other, however much that is: a backlog of a day costs a node no more than one of an hour.
 */

/** How many requests may be on their way to a receiver that refuses. */
const refusingMost = 3
/** How many receivers that refuse are remembered. */
const knownMost = 1_000
/** A request that has no place comes again after this long at least, and so long after the one that was sent back before it. */
const laterMs = 10_000
const apartMs = 50

interface Receiver {
  underWay: number
  refuses: boolean
  /** When the request comes again that was sent back last. */
  laterAt: number
}

export class Receivers {
  readonly #known = new Map<string, Receiver>()

  /** Returns null, and the caller must call `end`; or, if too many are on their way, in how many ms the request should come again. */
  begin(goal: string, now = performance.now()): number | null {
    const receiver = this.#known.get(goal) ?? { underWay: 0, refuses: false, laterAt: 0 }
    if (receiver.refuses && receiver.underWay >= refusingMost) {
      receiver.laterAt = Math.max(now + laterMs, receiver.laterAt + apartMs)
      return receiver.laterAt - now
    }
    receiver.underWay++
    this.#known.set(goal, receiver)
    return null
  }

  end(goal: string, isAccepted: boolean): void {
    const receiver = this.#known.get(goal)
    if (receiver === undefined) return
    receiver.underWay--
    receiver.refuses = !isAccepted
    if (receiver.underWay > 0) return
    // The receiver that refused last stands last.
    this.#known.delete(goal)
    if (receiver.refuses) this.#known.set(goal, receiver)
    for (const [oldest, { underWay }] of this.#known) {
      if (this.#known.size <= knownMost) return
      if (underWay === 0) this.#known.delete(oldest)
    }
  }
}
