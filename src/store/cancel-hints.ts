/**
 * Duty: hearing that a session was just cancelled, so that its turns need not wait for their next renewal.
 * A hint may be lost, and nothing depends on it; but a node that never listened would be late with every cancel.
 */
import type { PartitionKeys } from './keys.ts'
import type { Redis } from './redis.ts'
import { guarded } from './script.ts'

/**
 * Calls back with the place and the session of each cancel; resolves when it listens, on a connection that only does this.
 * Throws a TransientError when that is not so within the deadline.
 */
export async function hearCancels<Place extends { readonly keys: PartitionKeys }>(
  redis: Redis,
  places: readonly Place[],
  heard: (place: Place, sessionId: string) => void,
  deadlineMs: number,
): Promise<void> {
  const byChannel = new Map(places.map((place) => [place.keys.hints, place]))
  redis.on('message', (channel: string, sessionId: string) => {
    const place = byChannel.get(channel)
    if (place) heard(place, sessionId)
  })
  await guarded('listening for cancels', () => redis.subscribe(...byChannel.keys()), deadlineMs)
}
