/**
 * Duty: text without halves of surrogate pairs. A model may write them, a provider answers them with 400, and stores that insist on
 * UTF-8 refuse them. Nothing else is changed: a NUL is a character like others.
 */

/** The same value with all its texts well-formed; the value itself when they are. */
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

/** Puts text together from pieces that may be cut in the middle of a surrogate pair; what it gives is well-formed. */
export class TextJoiner {
  #text = ''
  /** The first half of a pair whose second half is still to come. */
  #held = ''

  /** What can be shown of the text so far and was not shown yet. */
  add(piece: string): string {
    const whole = this.#held + piece
    this.#held = /[\uD800-\uDBFF]$/.test(whole) ? whole.slice(-1) : ''
    const preview = (this.#held === '' ? whole : whole.slice(0, -1)).toWellFormed()
    this.#text += preview
    return preview
  }

  get text(): string {
    return this.#text + this.#held.toWellFormed()
  }
}
