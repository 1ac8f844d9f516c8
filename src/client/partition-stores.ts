/** Duty: what a client reads and writes in each partition, in lists by partition that grow with them. */
import { AuditStore } from '../store/audit/audit-store.ts'
import { InspectStore } from '../store/audit/inspect-store.ts'
import { AskStore } from '../store/person/ask-store.ts'
import { LetterStore } from '../store/person/letter-store.ts'
import type { Places } from '../store/places.ts'
import { PoolStore } from '../store/pool-store.ts'
import { guardedReads } from '../store/redis/guarded.ts'
import type { SessionStore } from '../store/session/session-store.ts'
import type { DeadLettersPlace } from './letter/dead-letters.ts'
import type { AsksPlace } from './person/asks.ts'

/** What only reads. */
export interface Readers {
  readonly inspect: readonly InspectStore[]
  readonly audits: readonly AuditStore[]
  readonly pools: readonly PoolStore[]
}

export function readersOf(places: Places, deadlineMs: number): Readers {
  return {
    inspect: places.map(({ redis, keys, partition }) =>
      guardedReads(new InspectStore(redis, keys, partition, places.first), deadlineMs, where(places, partition)),
    ),
    audits: places.map(({ redis, caller, keys, partition }) =>
      guardedReads(new AuditStore(redis, caller, keys, partition, deadlineMs), deadlineMs, where(places, partition)),
    ),
    pools: places.map(({ redis, keys, partition }) =>
      guardedReads(new PoolStore(redis, keys), deadlineMs, where(places, partition)),
    ),
  }
}

/** Names the partition in an error, if there are several: only its server may be away (`troupe partition list` says where each is). */
function where({ all }: Places, partition: number): () => string {
  return () => (all.length > 1 ? ` of partition ${partition}` : '')
}

/** `stores`: what changes sessions, by partition. */
export function asksOf(places: Places, stores: readonly SessionStore[], deadlineMs: number): readonly AsksPlace[] {
  return places.map(({ redis, keys, partition }) => ({
    asks: guardedReads(new AskStore(redis, keys), deadlineMs, where(places, partition)),
    store: stores[partition] as SessionStore,
  }))
}

export function lettersOf(
  places: Places,
  stores: readonly SessionStore[],
  { inspect }: Readers,
  deadlineMs: number,
): readonly DeadLettersPlace[] {
  return places.map(({ redis, keys, partition }) => ({
    letters: guardedReads(new LetterStore(redis, keys), deadlineMs, where(places, partition)),
    store: stores[partition] as SessionStore,
    inspect: inspect[partition] as InspectStore,
  }))
}
