/**
 * Duty: keeps what agents of this node know in memory, so that the next turn of a worker reads only what is new.
 * H1 A container is in one turn or in the cache, never in both: a turn takes it out and gives it back when it has ended.
 * H2 It is used again only if the history still begins with what it was made of. H3 The least used ones go first.
 */
import { getHeapStatistics } from 'node:v8'
import type { ContextContainer } from '../../core/history/context-container.ts'
import { policy } from '../../core/policy.ts'
import type { Grant } from '../../core/ports/ports.ts'
import type { TurnOutcome } from '../turn/turn.ts'

export interface KnownHistory {
  readonly container: ContextContainer
  /** Entries of the log that the container was made of, and what their text takes in memory. */
  readonly length: number
  readonly bytes: number
  /** The last of them, as it is stored. */
  readonly lastJson: string
}

interface Kept {
  readonly known: KnownHistory
  readonly outcome: TurnOutcome
}

/** What V8 needs for a worker beside its entries, and for an entry beside its text: as measured, with one or forty short ones. */
const workerBytes = 3_000
const entryBytes = 200
/** Of what V8 lets the process have, which is much more than what may grow old in it: 285 MB with `--max-old-space-size=80`. */
const heapShare = 1 / 8

export class HistoryCache {
  readonly #bytesMax: number
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  /** `bytesMax`: of memory. Default: that of the policy, where the heap is large enough. */
  constructor(
    bytesMax = Math.min(policy.historyCacheBytes, Math.floor(getHeapStatistics().heap_size_limit * heapShare)),
  ) {
    this.#bytesMax = bytesMax
  }

  /** What is known of this worker: all of its history (`isWhole`), or perhaps a beginning of it. */
  take(grant: Grant): { readonly known: KnownHistory; readonly isWhole: boolean } | null {
    const kept = this.#kept.get(grant.workerId)
    if (kept === undefined) return null
    this.#drop(grant.workerId, kept)
    // It was given back before the ending commit was answered: only its turn knows whether that was accepted.
    const { over, aborted, commitId, version } = kept.outcome
    if (over !== 'ended' || aborted) return null
    return { known: kept.known, isWhole: commitId === grant.commitId && version === grant.version }
  }

  /** To be called just before the turn's ending commit, with what will be true after it; `outcome` is that of the turn. */
  give(workerId: string, outcome: TurnOutcome, known: KnownHistory): void {
    const old = this.#kept.get(workerId)
    if (old) this.#drop(workerId, old)
    const bytes = memoryOf(known)
    if (bytes > this.#bytesMax) return
    this.#kept.set(workerId, { known, outcome })
    this.#bytes += bytes
    for (const [id, kept] of this.#kept) {
      if (this.#bytes <= this.#bytesMax) break
      this.#drop(id, kept)
    }
  }

  #drop(workerId: string, kept: Kept): void {
    this.#kept.delete(workerId)
    this.#bytes -= memoryOf(kept.known)
  }
}

function memoryOf({ bytes, length }: KnownHistory): number {
  return workerBytes + length * entryBytes + bytes
}

/** V8 keeps a text with a letter beyond Latin-1 (a dash, an emoji) in two bytes for each of its letters. */
export function textBytes(json: string): number {
  return /[\u0100-\uffff]/.test(json) ? 2 * json.length : json.length
}
