/**
 * Duty: the slots of a node: how many turns may run at once, over all partitions and pools.
 * SLOTS-1 A wake-up that finds no free slot is remembered, one for each line (the queue of a pool in a partition).
 * SLOTS-2 A slot that becomes free goes to the waiting line that has been without a slot for longest. Each waiting line therefore gets its
 *    turn, and a line that seldom has work does not stay behind lines that always have some.
 */
import type { FirstClaim, Wakeup } from '../../core/ports/wake.ts'

/** A wake-up and its partition. Together they name a line. */
export interface QueuedWakeup {
  readonly partition: number
  readonly wakeup: Wakeup
}

export class Slots {
  readonly total: number
  readonly #free: number[]
  readonly #waiting = new Map<string, QueuedWakeup>()
  /** For each line the number of the last time a slot came to it or left it. */
  readonly #served = new Map<string, number>()
  #servings = 0
  /** For waiting lines: resolves with the first claim of the slot that comes. */
  readonly #coming = new Map<string, PromiseWithResolvers<FirstClaim | null>>()

  constructor(total: number) {
    this.total = total
    this.#free = Array.from({ length: total }, (_, index) => total - 1 - index)
  }

  get free(): number {
    return this.#free.length
  }

  /** Number of a free slot, or null: then its line waits for one. */
  take(queuedWakeup: QueuedWakeup): number | null {
    const slot = this.#free.pop() ?? null
    if (slot === null) this.#waiting.set(lineOf(queuedWakeup), queuedWakeup)
    else {
      this.#serve(queuedWakeup)
      this.#waiting.delete(lineOf(queuedWakeup))
    }
    return slot
  }

  /** Resolves when a slot has come to a queue that waits, with its first claim there; null if none came, or none waits. */
  async came(queuedWakeup: QueuedWakeup): Promise<FirstClaim | null> {
    const line = lineOf(queuedWakeup)
    if (!this.#waiting.has(line)) return null
    const coming = this.#coming.get(line) ?? Promise.withResolvers<FirstClaim | null>()
    this.#coming.set(line, coming)
    return coming.promise
  }

  tellCame(queuedWakeup: QueuedWakeup, first: FirstClaim | null): void {
    this.#coming.get(lineOf(queuedWakeup))?.resolve(first)
    this.#coming.delete(lineOf(queuedWakeup))
  }

  /** No slot will come any more: the node drains. */
  tellAll(): void {
    this.#waiting.clear()
    for (const { resolve } of this.#coming.values()) resolve(null)
    this.#coming.clear()
  }

  /** A slot leaves this line for another one. The line that it leaves waits from now on. */
  leave(queuedWakeup: QueuedWakeup): void {
    this.#serve(queuedWakeup)
    this.#waiting.set(lineOf(queuedWakeup), queuedWakeup)
  }

  #serve(queuedWakeup: QueuedWakeup): void {
    this.#served.set(lineOf(queuedWakeup), ++this.#servings)
  }

  give(slot: number): void {
    this.#free.push(slot)
  }

  /** Another line that waits, the longest one first. Slots of this node that are awake may never claim there by themselves. */
  waitingElsewhere(than: QueuedWakeup): QueuedWakeup | undefined {
    const own = lineOf(than)
    let first: QueuedWakeup | undefined
    let least = Number.POSITIVE_INFINITY
    for (const [line, queuedWakeup] of this.#waiting) {
      const served = this.#served.get(line) ?? 0
      if (line === own || served >= least) continue
      first = queuedWakeup
      least = served
    }
    return first
  }

  /** The line that a slot goes to when it ends. The line that it was in comes last. */
  waitingAfter(last: QueuedWakeup): QueuedWakeup | undefined {
    this.#serve(last)
    return this.waitingElsewhere(last) ?? this.#waiting.get(lineOf(last))
  }
}

function lineOf({ partition, wakeup }: QueuedWakeup): string {
  return `${partition} ${wakeup.pool}`
}
