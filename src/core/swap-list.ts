/**
 * Duty: a list without order for things that come and go thousands of times a second: adding and removing take constant time and
 * make no garbage.
 * A Set would make garbage. It builds a new table again and again, and V8 makes each old table point at the next one. A table that
 * survived two young collections then keeps everything that was ever in the tables after it, until a full collection.
 */

/** A thing is in one list at a time. Only the list writes its `index`. */
export interface SwapItem {
  /** Index in the list, -1 outside. */
  index: number
}

export class SwapList<Item extends SwapItem> {
  readonly #items: Item[] = []

  get size(): number {
    return this.#items.length
  }

  add(item: Item): void {
    if (item.index >= 0) return
    item.index = this.#items.length
    this.#items.push(item)
  }

  /** The last item moves to the index that becomes free. */
  remove(item: Item): void {
    const { index } = item
    if (index < 0) return
    const last = this.#items.pop() as Item
    if (last !== item) {
      this.#items[index] = last
      last.index = index
    }
    item.index = -1
  }

  /** A copy, so that the caller may add and remove while it walks. */
  list(): Item[] {
    return this.#items.slice()
  }
}
