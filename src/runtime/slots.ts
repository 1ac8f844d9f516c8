/** Duty: the slots of a node: how many turns may run at once, over all partitions and pools. */

export class Slots {
  readonly total: number
  readonly #free: number[]

  constructor(total: number) {
    this.total = total
    this.#free = Array.from({ length: total }, (_, index) => total - 1 - index)
  }

  get free(): number {
    return this.#free.length
  }

  /** Number of a free slot, or null. Never waits: a bell that finds no slot is answered by those that are awake. */
  take(): number | null {
    return this.#free.pop() ?? null
  }

  give(slot: number): void {
    this.#free.push(slot)
  }
}
