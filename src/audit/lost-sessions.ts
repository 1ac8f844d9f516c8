/**
 * Duty: find sessions that were created, by the event stream, and that are gone.
 * LOST-1 Pruning takes only sessions that have ended, and leaves only a count. So a session that is gone and has no end in the stream is lost.
 * LOST-2 A session that ended and is gone may have been pruned. Some of these are lost if more are gone than were ever pruned.
 */
import type { AuditStore } from '../store/audit/audit-store.ts'
import type { Suspicion } from './finding.ts'
import type { StreamFacts } from './stream-facts.ts'

const pageSize = 1_000
/** A finding names at most this many. */
const namedMost = 5

/** The sessions that are gone without an end (LOST-1). The stream is read before the sessions are looked up. */
export async function lostSessions(
  store: AuditStore,
  streams: StreamFacts,
  sessionIds: readonly string[],
): Promise<Suspicion[]> {
  const unended = sessionIds.filter((id) => streams.wasCreated(id) && !streams.hasEnded(id))
  return (await goneOf(store, unended)).map((sessionId) => ({
    invariant: 'I16',
    rule: 'lost',
    sessionId,
    workerId: null,
    what: `session ${sessionId} was created and did not end, and neither it nor its root is there`,
    involved: [],
  }))
}

/**
 * Finds out whether ended sessions were lost (LOST-2). `sessionIds`: the sessions that were created and not seen. The count of pruned sessions is
 * read last.
 */
export async function lostEndedSessions(
  store: AuditStore,
  streams: StreamFacts,
  sessionIds: readonly string[],
): Promise<Suspicion[]> {
  const ended = sessionIds.filter((id) => streams.hasEnded(id))
  const gone = await goneOf(store, ended)
  if (gone.length === 0) return []
  const pruned = (await store.retired()).sessions
  if (gone.length <= pruned) return []
  const names = gone.slice(0, namedMost).join(', ') + (gone.length > namedMost ? ', …' : '')
  const what = `${gone.length} sessions that had ended are gone, and the count of those pruned is ${pruned}: the others are lost, among ${names}`
  return [{ invariant: 'I16', rule: 'lost-ended', sessionId: null, workerId: null, what, involved: [] }]
}

async function goneOf(store: AuditStore, sessionIds: readonly string[]): Promise<string[]> {
  const gone: string[] = []
  for (let from = 0; from < sessionIds.length; from += pageSize)
    gone.push(...(await store.gone(sessionIds.slice(from, from + pageSize))))
  return gone
}
