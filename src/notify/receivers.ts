/**
 * Duty: keep a receiver that accepts nothing from taking all places for requests of this node.
 * RECEIVER-1 One that did not accept its last request has at most a few under way. Once it accepts one, it may have all places again.
 */

/** So many requests to one that refuses are under way. */
const refusingMost = 3
/** More of those that refuse are not remembered. */
const knownMost = 1_000

interface Receiver {
  underWay: number
  refuses: boolean
}

export class Receivers {
  readonly #known = new Map<string, Receiver>()

  /** False: it has too many under way. Else `end` is to be called. */
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
    // The one that refused last comes last.
    this.#known.delete(goal)
    if (receiver.refuses) this.#known.set(goal, receiver)
    const [oldest] = this.#known
    if (oldest !== undefined && this.#known.size > knownMost && oldest[1].underWay === 0) this.#known.delete(oldest[0])
  }
}
