/** Duty: what a commit that ends a turn says of the turn and its worker. */

export interface CommitEnd {
  /** What the worker waits for, as `encodeWait` writes it. */
  readonly wait: string
  readonly retryMs?: number
  /** The turn was released and recorded nothing: its start does not count. `isIsolated`: that was an isolated start. */
  readonly isUncounted?: boolean
  readonly isIsolated?: boolean
  /** For how long the turn has held its slot. */
  readonly turnMs?: number
}
