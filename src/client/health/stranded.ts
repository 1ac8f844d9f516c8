/**
 * Duty: find workers that nothing wakes any more, because another program removed their entry from a set, or the set itself; and what another
 * program wrote into the index of sessions and into the lists of their workers.
 * STRANDED-1 It looks at the newest workers alone, so that it stays short however many workers there are. The audit looks at all of them.
 * STRANDED-2 It looks twice before it reports a worker, because a running system changes between two reads.
 * STRANDED-3 An id that cannot be a worker of its session is reported, and never looked up.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { partitionOf } from '../../core/ids.ts'
import type { WorkerPicture } from '../../store/audit/audit-picture.ts'
import type { AuditStore } from '../../store/audit/audit-store.ts'
import type { SessionIndex, WrongEntry } from '../session/session-index.ts'

/** Which entry is missing. */
export type StrandedReason = 'not_in_run_queue' | 'unknown_run_queue' | 'no_lease' | 'no_retry_timer' | 'no_timer'

export interface Stranded {
  readonly id: string
  readonly reason: StrandedReason
}

/** What the newest workers show. */
export interface NewestWorkers {
  readonly stranded: readonly Stranded[]
  /** What another program wrote into the index of sessions, or into the lists of their workers. */
  readonly wrongEntries: readonly WrongEntry[]
}

const workersMost = 200
/** How many workers one script looks at. */
const pieceSize = 50
/** How long it waits before the second look. */
const againMs = 250

export async function lookAtNewest(index: SessionIndex, stores: readonly AuditStore[]): Promise<NewestWorkers> {
  const { workers, wrong } = await index.newestMembers(workersMost)
  return { stranded: await strandedAmong(workers, stores), wrongEntries: wrong }
}

async function strandedAmong(ids: readonly string[], stores: readonly AuditStore[]): Promise<Stranded[]> {
  const first = await look(ids, stores)
  await pause(againMs)
  const again = await look(
    first.map(({ id }) => id),
    stores,
  )
  return again.filter(({ id, reason }) => first.some((one) => one.id === id && one.reason === reason))
}

async function look(ids: readonly string[], stores: readonly AuditStore[]): Promise<Stranded[]> {
  const found: Stranded[] = []
  for (const [partition, some] of Map.groupBy(ids, partitionOf)) {
    const store = stores[partition] as AuditStore
    const pools = await store.pools()
    for (let from = 0; from < some.length; from += pieceSize) {
      const { workers } = await store.look(null, some.slice(from, from + pieceSize), pools, 'count')
      for (const picture of workers) {
        const reason = reasonOf(picture)
        if (reason !== null) found.push({ id: picture.id, reason })
      }
    }
  }
  return found
}

/** Null if something wakes the worker, or if that cannot be read. */
function reasonOf(picture: WorkerPicture): StrandedReason | null {
  const { record, queuedIn, unreadPools, isLeased, hasRetryTimer, timers } = picture
  const { status, wait } = record
  if (status === 'queued' && queuedIn.length + unreadPools.length === 0) return 'not_in_run_queue'
  if (status === 'queued' && queuedIn.some((pool) => !picture.pools.includes(pool))) return 'unknown_run_queue'
  if (status === 'running' && isLeased === false) return 'no_lease'
  if (status === 'parked' && wait.kind === 'retry' && hasRetryTimer === false) return 'no_retry_timer'
  if (status === 'idle' || status === 'terminal') return null
  return timers.some(({ isTimed }) => isTimed === false) ? 'no_timer' : null
}
