/**
 * Duty: the slots of a node: how many turns may run at once, over all partitions and pools.
 * SLOTS-1 A run queue whose wake-up finds no free slot is remembered: it waits for a slot.
 * SLOTS-2 A slot that becomes free goes to the waiting queue that has been without a slot for longest. Each waiting queue therefore gets
 *    its turn, and a queue that seldom has work does not stay behind queues that always have some.
 */
import type { FirstClaim, Wakeup } from '../../core/ports/wake.ts'

/** A run queue, named by its partition and its pool, with the wake-up that brings slots to it. */
export interface RunQueue {
  readonly partition: number
  readonly wakeup: Wakeup
}

export class Slots {
  readonly total: number
  readonly #free: number[]
  readonly #waiting = new Map<string, RunQueue>()
  /** For each queue the number of the last time a slot came to it or left it. */
  readonly #served = new Map<string, number>()
  #servings = 0
  /** For waiting queues: resolves with the first claim of the slot that comes. */
  readonly #coming = new Map<string, PromiseWithResolvers<FirstClaim | null>>()

  constructor(total: number) {
    this.total = total
    this.#free = Array.from({ length: total }, (_, index) => total - 1 - index)
  }

  get free(): number {
    return this.#free.length
  }

  /** Number of a free slot, or null: then the queue waits for one. */
  take(queue: RunQueue): number | null {
    const slot = this.#free.pop() ?? null
    if (slot === null) this.#waiting.set(nameOf(queue), queue)
    else {
      this.#serve(queue)
      this.#waiting.delete(nameOf(queue))
    }
    return slot
  }

  give(slot: number): void {
    this.#free.push(slot)
  }

  /** Resolves when a slot has come to a queue that waits, with its first claim there; null if none came, or the queue does not wait. */
  async came(queue: RunQueue): Promise<FirstClaim | null> {
    const name = nameOf(queue)
    if (!this.#waiting.has(name)) return null
    const coming = this.#coming.get(name) ?? Promise.withResolvers<FirstClaim | null>()
    this.#coming.set(name, coming)
    return coming.promise
  }

  tellCame(queue: RunQueue, first: FirstClaim | null): void {
    this.#coming.get(nameOf(queue))?.resolve(first)
    this.#coming.delete(nameOf(queue))
  }

  /** No slot will come any more: the node drains. */
  tellAll(): void {
    this.#waiting.clear()
    for (const { resolve } of this.#coming.values()) resolve(null)
    this.#coming.clear()
  }

  /** A slot leaves this queue for another one. From now on this queue waits. */
  leave(queue: RunQueue): void {
    this.#serve(queue)
    this.#waiting.set(nameOf(queue), queue)
  }

  /** The queue that has waited for longest, apart from this one. Without it, slots that always find work in their own queues would never go there. */
  waitingElsewhere(than: RunQueue): RunQueue | undefined {
    const own = nameOf(than)
    let first: RunQueue | undefined
    let least = Number.POSITIVE_INFINITY
    for (const [name, queue] of this.#waiting) {
      const served = this.#served.get(name) ?? 0
      if (name === own || served >= least) continue
      first = queue
      least = served
    }
    return first
  }

  /** The queue that a slot goes to when it ends. The queue that it was in comes last. */
  waitingAfter(last: RunQueue): RunQueue | undefined {
    this.#serve(last)
    return this.waitingElsewhere(last) ?? this.#waiting.get(nameOf(last))
  }

  #serve(queue: RunQueue): void {
    this.#served.set(nameOf(queue), ++this.#servings)
  }
}

function nameOf({ partition, wakeup }: RunQueue): string {
  return `${partition} ${wakeup.pool}`
}
