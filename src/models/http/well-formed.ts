/**
 * Duty: replace half surrogate pairs in texts. A model may write them, but providers answer them with status 400, and stores that require UTF-8
 * refuse them. Nothing else is changed; a NUL stays too.
 */

/** The value with all its texts well-formed. Returns the value itself if they are. */
export function wellFormed<T>(value: T): T {
  return mend(value) as T
}

function mend(value: unknown): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(mend)
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  const entries = Object.entries(value)
  const mended = entries.map(([key, item]) => [mend(key) as string, mend(item)] as const)
  const changed = mended.some(([key, item], index) => key !== entries[index]?.[0] || item !== entries[index]?.[1])
  return changed ? Object.fromEntries(mended) : value
}

/** Joins text from pieces that may be cut within a surrogate pair. The joined text is well-formed. */
export class TextJoiner {
  #text = ''
  /** The first half of a pair whose second half has not come yet. */
  #held = ''

  /** Adds a piece, and returns the well-formed text that is new since the last call. */
  add(piece: string): string {
    const whole = this.#held + piece
    this.#held = /[\uD800-\uDBFF]$/.test(whole) ? whole.slice(-1) : ''
    const added = (this.#held === '' ? whole : whole.slice(0, -1)).toWellFormed()
    this.#text += added
    return added
  }

  get text(): string {
    return this.#text + this.#held.toWellFormed()
  }
}
