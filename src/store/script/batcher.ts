/**
 * Duty: send calls that are made in one pass of the event loop together, as one script.
 * BATCHER-1 A script holds Redis for as long as it runs: one script takes a limited number of calls and bytes.
 * BATCHER-2 Calls leave in the order in which they were made.
 */
import type { Argument } from './script.ts'

/** More of them would wait for each other: this process idles while Redis works, and Redis while this process does (bench/history.md). */
const callsMost = 8
const bytesMost = 65_536

export interface Batched {
  readonly bytes: number
}

export class Batcher<Item extends Batched> {
  readonly #send: (items: readonly Item[]) => void
  readonly #later: (leave: () => void) => void
  #waiting: Item[] = []

  /** `later` calls back when the pass is over. */
  constructor(send: (items: readonly Item[]) => void, later: (leave: () => void) => void) {
    this.#send = send
    this.#later = later
  }

  add(item: Item): void {
    if (this.#waiting.length === 0) this.#later(() => this.flush())
    this.#waiting.push(item)
    // Redis begins with a full batch while further calls are still being made.
    if (this.#waiting.length === callsMost) this.flush()
  }

  flush(): void {
    const all = this.#waiting
    this.#waiting = []
    for (const batch of batchesOf(all)) this.#send(batch)
  }
}

/** Splits these items, in their order, into as few batches as possible; each goes into one script. */
export function* batchesOf<Item extends Batched>(all: readonly Item[]): Generator<readonly Item[]> {
  for (let from = 0; from < all.length; ) {
    const count = countOf(all, from)
    yield all.slice(from, from + count)
    from += count
  }
}

/** How many items, from this one on, go into one script. */
function countOf(all: readonly Batched[], from: number): number {
  let bytes = 0
  for (let count = 0; ; count++) {
    const next = all[from + count]
    if (next === undefined || count === callsMost) return count
    bytes += next.bytes
    if (count > 0 && bytes > bytesMost) return count
  }
}

/** About how many bytes these have: text that is not ASCII has more. */
export function bytesOf(words: readonly Argument[]): number {
  let bytes = 0
  for (const word of words) if (typeof word === 'string') bytes += word.length
  return bytes
}
