/** Duty: keep the first few of very many items in a total order, without keeping the others. */
export class Top<Item> {
  readonly #max: number
  readonly #compare: (a: Item, b: Item) => number
  readonly #items: Item[] = []

  constructor(max: number, compare: (a: Item, b: Item) => number) {
    this.#max = max
    this.#compare = compare
  }

  add(item: Item): void {
    this.#items.push(item)
    // Sorted only now and then, so that adding an item is cheap.
    if (this.#items.length >= 2 * this.#max + 100) this.#cut()
  }

  list(): Item[] {
    this.#cut()
    return [...this.#items]
  }

  #cut(): void {
    this.#items.sort(this.#compare).splice(this.#max)
  }
}
