/**
 * Duty: sessions that were created, by the event stream, and of which nothing is there.
 * Pruning leaves no trace of a session but a count. It takes only what has ended, and the end is told behind the creation: so one
 * that is gone and did not end is lost. Of those that ended it is known only when more are gone than were ever pruned.
 */
import type { AuditStore } from '../store/audit-store.ts'
import type { Announced } from './announced.ts'
import type { Suspicion } from './finding.ts'

const pageSize = 1_000
/** So many are named. */
const namedMost = 5

/** Those among these sessions that are gone without an end. What became of a session is read after it was announced. */
export async function lostSessions(
  store: AuditStore,
  announced: Announced,
  sessionIds: readonly string[],
): Promise<Suspicion[]> {
  const unended = sessionIds.filter((id) => announced.wasCreated(id) && !announced.hasEnded(id))
  return (await goneOf(store, unended)).map((sessionId) => ({
    invariant: 'I16',
    rule: 'lost',
    sessionId,
    workerId: null,
    what: `session ${sessionId} was created and did not end, and neither it nor its root is there`,
    involved: [],
  }))
}

/** `sessionIds`: all that were created and were not seen. The count of what was pruned is read last. */
export async function lostEndedSessions(
  store: AuditStore,
  announced: Announced,
  sessionIds: readonly string[],
): Promise<Suspicion[]> {
  const ended = sessionIds.filter((id) => announced.hasEnded(id))
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
