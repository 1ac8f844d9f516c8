/**
 * Duty: the slots of a node: how many turns may run at once, over all partitions and pools.
 * A wake-up that finds no slot free is remembered, one for each line (a pool of a partition). A slot goes to the line which has been without
 * one for longest: so each line that waits has its turn, and one that seldom has work is not behind all that always have.
 */
import type { Wakeup } from '../../core/ports/ports.ts'

/** A wake-up, and the partition that it was rung in: together they name a line. */
export interface QueuedWakeup {
  readonly partition: number
  readonly wakeup: Wakeup
}

export class Slots {
  readonly total: number
  readonly #free: number[]
  readonly #waiting = new Map<string, QueuedWakeup>()
  /** By line: which of all comings and goings of slots was its last. */
  readonly #served = new Map<string, number>()
  #servings = 0
  /** Of lines that wait, those of whom somebody is to hear when a slot has come. */
  readonly #coming = new Map<string, PromiseWithResolvers<void>>()

  constructor(total: number) {
    this.total = total
    this.#free = Array.from({ length: total }, (_, index) => total - 1 - index)
  }

  get free(): number {
    return this.#free.length
  }

  /** Number of a free slot, or null. Never waits: a wake-up that finds no slot is answered by those of its pool that are awake. */
  take(queuedWakeup: QueuedWakeup): number | null {
    const slot = this.#free.pop() ?? null
    if (slot === null) this.#waiting.set(lineOf(queuedWakeup), queuedWakeup)
    else {
      this.#serve(queuedWakeup)
      this.#waiting.delete(lineOf(queuedWakeup))
    }
    return slot
  }

  /** Resolves when a slot has come to a line that waits. */
  async came(queuedWakeup: QueuedWakeup): Promise<void> {
    const line = lineOf(queuedWakeup)
    if (!this.#waiting.has(line)) return
    const coming = this.#coming.get(line) ?? Promise.withResolvers()
    this.#coming.set(line, coming)
    await coming.promise
  }

  tellCame(queuedWakeup: QueuedWakeup): void {
    this.#coming.get(lineOf(queuedWakeup))?.resolve()
    this.#coming.delete(lineOf(queuedWakeup))
  }

  /** Where no slot will come any more. */
  tellAll(): void {
    this.#waiting.clear()
    for (const { resolve } of this.#coming.values()) resolve()
    this.#coming.clear()
  }

  /** The wake-up of a slot that is to go to another line waits, too. */
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

  /** The wake-up of another line that found no slot free: slots that are awake here may never claim there. */
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

  /** What a slot that ends answers next: the line that it was in comes last. */
  waitingAfter(last: QueuedWakeup): QueuedWakeup | undefined {
    this.#serve(last)
    return this.waitingElsewhere(last) ?? this.#waiting.get(lineOf(last))
  }
}

function lineOf({ partition, wakeup }: QueuedWakeup): string {
  return `${partition} ${wakeup.pool}`
}
