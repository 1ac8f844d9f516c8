/**
 * Duty: keeps what agents of this node know in memory, so that the next turn of a worker reads only what is new.
 * H1 A container is in one turn or in the cache, never in both: a turn takes it out and gives it back when it has ended.
 * H2 It is used again only if the history still begins with what it was made of. H3 The least used ones go first.
 */
import type { ContextContainer } from '../core/context-container.ts'
import type { Grant } from '../core/ports.ts'
import type { Left } from './turn.ts'

export interface KnownHistory {
  readonly container: ContextContainer
  /** Entries of the log that the container was made of, and their bytes. */
  readonly length: number
  readonly bytes: number
  /** The last of them, as it is stored. */
  readonly lastJson: string
}

interface Kept {
  readonly known: KnownHistory
  readonly left: Left
}

export class HistoryCache {
  readonly #bytesMax: number
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** What is known of this worker: all of its history (`isWhole`), or perhaps a beginning of it. */
  take(grant: Grant): { readonly known: KnownHistory; readonly isWhole: boolean } | null {
    const kept = this.#kept.get(grant.workerId)
    if (kept === undefined) return null
    this.#drop(grant.workerId, kept)
    // It was given back before the ending commit was answered: only its turn knows whether that was accepted.
    const { over, aborted, commitId, version } = kept.left
    if (over !== 'ended' || aborted) return null
    return { known: kept.known, isWhole: commitId === grant.commitId && version === grant.version }
  }

  /** To be called just before the turn's ending commit, with what will be true after it; `left` is that of the turn. */
  give(workerId: string, left: Left, known: KnownHistory): void {
    const old = this.#kept.get(workerId)
    if (old) this.#drop(workerId, old)
    if (known.bytes > this.#bytesMax) return
    this.#kept.set(workerId, { known, left })
    this.#bytes += known.bytes
    for (const [id, kept] of this.#kept) {
      if (this.#bytes <= this.#bytesMax) break
      this.#drop(id, kept)
    }
  }

  #drop(workerId: string, kept: Kept): void {
    this.#kept.delete(workerId)
    this.#bytes -= kept.known.bytes
  }
}
