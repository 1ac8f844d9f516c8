/**
 * Duty: what is under way, in no order: put in and taken out in constant time, without garbage.
 * A Set that is filled and emptied all the time makes new tables again and again, and V8 has each old one point at the next: one that
 * outlived two young collections keeps all that ever was in those after it, until a full one (decision 0013).
 */

/** Held by one bag at a time; `place` belongs to the bag. */
export interface Baggable {
  /** Index in the bag, -1 outside. */
  place: number
}

export class Bag<Item extends Baggable> {
  readonly #items: Item[] = []

  get size(): number {
    return this.#items.length
  }

  add(item: Item): void {
    if (item.place >= 0) return
    item.place = this.#items.length
    this.#items.push(item)
  }

  /** The last one takes its place. */
  remove(item: Item): void {
    const { place } = item
    if (place < 0) return
    const last = this.#items.pop() as Item
    if (last !== item) {
      this.#items[place] = last
      last.place = place
    }
    item.place = -1
  }

  /** A copy: what is put in or taken out meanwhile does not matter. */
  list(): Item[] {
    return this.#items.slice()
  }
}
