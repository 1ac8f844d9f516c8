/**
 * Duty: keep in memory what the agents of this node know, so that the next turn of a worker reads only new entries.
 * Owns: the memory of these histories and its limit. Does not own: reading entries (load.ts), adding them (journal.ts).
 * CACHE-1 A container belongs to one turn or to the cache, never to both: a turn takes it out, and gives it back when it ends.
 * CACHE-2 A container is used again only if the stored history still begins with the entries that the container was built from.
 * CACHE-3 When the limit is reached, the histories that were used longest ago are dropped first.
 */
import { getHeapStatistics } from 'node:v8'
import type { ContextContainer } from '../../core/history/context-container.ts'
import { policy } from '../../core/policy.ts'
import type { Assignment } from '../../core/ports/ports.ts'
import type { TurnOutcome } from '../turn/turn-state.ts'

export interface KnownHistory {
  readonly container: ContextContainer
  /** How many entries the container was built from, all from the first one on, and how many bytes of memory their text takes. */
  readonly length: number
  readonly bytes: number
  /** The last of these entries, as it is stored. */
  readonly lastJson: string
}

interface Kept {
  readonly known: KnownHistory
  readonly outcome: TurnOutcome
}

/** What V8 needs for a worker beside its entries, and for an entry beside its text; measured with one and with forty short entries. */
const workerBytes = 3_000
const entryBytes = 200
/**
 * The share of the heap limit that the cache may take. The limit is much more than what the old generation may hold: V8 reports 285 MB
 * for `--max-old-space-size=80`.
 */
const heapShare = 1 / 8

export class HistoryCache {
  readonly #bytesMax: number
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  /** `bytesMax`: bytes of memory. Default: the limit of the policy, or less if the heap is small. */
  constructor(
    bytesMax = Math.min(policy.historyCacheBytes, Math.floor(getHeapStatistics().heap_size_limit * heapShare)),
  ) {
    this.#bytesMax = bytesMax
  }

  /** Takes out what is known of this worker. `isWhole`: no entry was added since; otherwise the caller must check the stored history. */
  take(assignment: Assignment): { readonly known: KnownHistory; readonly isWhole: boolean } | null {
    const kept = this.#kept.get(assignment.workerId)
    if (kept === undefined) return null
    this.#drop(assignment.workerId, kept)
    // The turn gave the history before its ending commit was answered. The turn knows by now whether that commit was accepted.
    const { over, aborted, commitId, version } = kept.outcome
    if (over !== 'ended' || aborted) return null
    return { known: kept.known, isWhole: commitId === assignment.commitId && version === assignment.version }
  }

  /** Called just before the turn's ending commit, with what will be known after that commit. `outcome` tells how the turn ended. */
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

/** Bytes of memory that a text takes. V8 keeps a text with any character beyond Latin-1 in two bytes for each character. */
export function textBytes(json: string): number {
  return /[\u0100-\uffff]/.test(json) ? 2 * json.length : json.length
}
