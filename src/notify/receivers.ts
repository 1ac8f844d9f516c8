/**
 * Duty: keep a receiver that accepts nothing from taking all places for requests of this node.
 * RECEIVER-1 A receiver that did not accept its last request gets only a few at a time. Once it accepts a request, it may have all places again.
 */

/** How many requests may be on their way to a receiver that refuses. */
const refusingMost = 3
/** How many receivers that refuse are remembered. */
const knownMost = 1_000

interface Receiver {
  underWay: number
  refuses: boolean
}

export class Receivers {
  readonly #known = new Map<string, Receiver>()

  /** Returns false if it has too many on their way. Otherwise the caller must call `end`. */
  begin(goal: string): boolean {
    const receiver = this.#known.get(goal) ?? { underWay: 0, refuses: false }
    if (receiver.refuses && receiver.underWay >= refusingMost) return false
    receiver.underWay++
    this.#known.set(goal, receiver)
    return true
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
    const [oldest] = this.#known
    if (oldest !== undefined && this.#known.size > knownMost && oldest[1].underWay === 0) this.#known.delete(oldest[0])
  }
}
