/**
 * Duty: what a node is told at once, before it would learn of it: that a session was cancelled, so that its turns need not wait for their
 * next renewal; and that a wake-up was put, so that a slot need not wait for its job.
 * A hint may be lost, and nothing depends on it; but a node that never listened would be late with every cancel.
 */
import type { Wakeup } from '../core/ports/ports.ts'
import type { PartitionKeys } from './keys.ts'
import type { Redis } from './redis/redis.ts'
import { guarded } from './script/script.ts'

export interface HintListener<Place> {
  /** The place and the session of each cancel. */
  cancelled(place: Place, sessionId: string): void
  /** A wake-up that this node may answer before its job comes. */
  told(place: Place, wakeup: Wakeup): void
}

/** Of which pools a node wants to hear wake-ups. */
export interface Hearer {
  readonly nodeId: string
  readonly pools: readonly string[]
}

/**
 * Calls back for each hint; resolves when it listens, on a connection that only does this.
 * Throws a TransientError when that is not so within the deadline.
 */
export async function hearHints<Place extends { readonly keys: PartitionKeys }>(
  redis: Redis,
  places: readonly Place[],
  { nodeId, pools }: Hearer,
  listener: HintListener<Place>,
  deadlineMs: number,
): Promise<void> {
  const byChannel = new Map<string, (text: string) => void>()
  for (const place of places) {
    byChannel.set(place.keys.hints, (sessionId) => listener.cancelled(place, sessionId))
    for (const pool of pools) byChannel.set(place.keys.told(pool, nodeId), (id) => listener.told(place, { id, pool }))
  }
  redis.on('message', (channel: string, text: string) => byChannel.get(channel)?.(text))
  await guarded('listening for hints', () => redis.subscribe(...byChannel.keys()), deadlineMs)
}
