/**
 * Duty: the slots of a node: how many turns may run at once, over all partitions and pools.
 * SLOTS-1 A wake-up that finds no slot free is remembered, one for each run queue (a pool of a partition). A slot that leaves its queue goes to the
 *     waiting queue that has had no slot for longest. Each queue that waits has its turn, and a queue that seldom has work does not wait
 *     behind all that always have some.
 */
import type { FirstClaim, Wakeup } from '../../core/ports/wake.ts'

/** A wake-up and its partition: together they name a run queue. */
export interface QueuedWakeup {
  readonly partition: number
  readonly wakeup: Wakeup
}

export class Slots {
  readonly total: number
  readonly #free: number[]
  readonly #waiting = new Map<string, QueuedWakeup>()
  /** By queue: the number of its last coming or going of a slot, counted over all queues. */
  readonly #served = new Map<string, number>()
  #servings = 0
  /** By waiting queue: resolves with the first claim of the slot that comes. */
  readonly #coming = new Map<string, PromiseWithResolvers<FirstClaim | null>>()

  constructor(total: number) {
    this.total = total
    this.#free = Array.from({ length: total }, (_, index) => total - 1 - index)
  }

  get free(): number {
    return this.#free.length
  }

  /** Number of a free slot, or null: then the queue waits for one. */
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

  /** No slot will come any more. */
  tellAll(): void {
    this.#waiting.clear()
    for (const { resolve } of this.#coming.values()) resolve(null)
    this.#coming.clear()
  }

  /** The slot goes to another queue; this one waits from now on. */
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

  /** The wake-up of another queue that waits: slots that are awake in this one never claim there. */
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

  /** Where a slot that ends goes next. The queue that it was in comes last. */
  waitingAfter(last: QueuedWakeup): QueuedWakeup | undefined {
    this.#serve(last)
    return this.waitingElsewhere(last) ?? this.#waiting.get(lineOf(last))
  }
}

function lineOf({ partition, wakeup }: QueuedWakeup): string {
  return `${partition} ${wakeup.pool}`
}
