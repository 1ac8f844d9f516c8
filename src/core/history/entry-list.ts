/**
 * Duty: name a stretch of a worker's stored history: its entries, and the position at which the stretch begins.
 * A container is built from such a stretch. Today every stretch begins at position 0. A compacted or forked history will begin later.
 */
export interface EntryList {
  /** Position of the first entry in the stored history. */
  readonly base: number
  /** The entries as they are stored, in order. */
  readonly entries: readonly string[]
}

/** Position of the first entry that an agent needs in order to go on. */
export const historyBase = 0
