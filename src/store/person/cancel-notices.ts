/**
 * Duty: tells a node at once that a session was cancelled, so that its turns need not wait for their next renewal.
 * A notice may be lost and nothing depends on it, but a node that never listened would be late with every cancel.
 */
import type { PartitionKeys } from '../keys.ts'
import { hearChannels, type ListenAt } from '../redis/channels.ts'

/** Calls back with the place and the session of each cancel, as `hearChannels` does. */
export async function hearCancels<Place extends { readonly keys: PartitionKeys }>(
  at: ListenAt,
  places: readonly Place[],
  onCancel: (place: Place, sessionId: string) => void,
  deadlineMs: number,
): Promise<void> {
  const handlers = new Map(
    places.map((place) => [place.keys.cancelNotices, (sessionId: string) => onCancel(place, sessionId)] as const),
  )
  await hearChannels(at, handlers, 'cancels', deadlineMs)
}
