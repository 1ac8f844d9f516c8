/**
 * Duty: tell a node at once that a session has changed in a way that its turns learn of with a renewal: a cancel, a pause, an input that steers. Then
 * they need not wait for their next one.
 * A notice may be lost and nothing depends on it, but a node that never listened would be late with every cancel.
 */
import type { PartitionKeys } from '../keys.ts'
import { hearChannels, type ListenAt } from '../redis/channels.ts'

/** Calls back with the place and the session of each notice, as `hearChannels` does; `*` stands for all sessions. */
export async function hearChanges<Place extends { readonly keys: PartitionKeys }>(
  at: ListenAt,
  places: readonly Place[],
  onChange: (place: Place, sessionId: string) => void,
  deadlineMs: number,
): Promise<void> {
  const handlers = new Map(
    places.map((place) => [place.keys.cancelNotices, (sessionId: string) => onChange(place, sessionId)] as const),
  )
  await hearChannels(at, handlers, 'cancels', deadlineMs)
}
