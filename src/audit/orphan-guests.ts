/**
 * Duty: find runs of other partitions that the first one still has at its gates, although they are over (I18). They keep a place, or a turn.
 * ORPHAN-1 Partitions tell each other within seconds, and a sweep asks of each such run every half a minute. So a run is a fault only
 *     if it has stood there for far longer, and its worker has recorded nothing for as long.
 */
import { partitionOf } from '../core/ids.ts'
import type { AuditStore } from '../store/audit/audit-store.ts'
import { idText, type Suspicion } from './finding.ts'

const longMs = 300_000

export async function orphanGuests(stores: readonly AuditStore[]): Promise<Suspicion[]> {
  const first = stores[0] as AuditStore
  const found: Suspicion[] = []
  const now = await first.now()
  for (const guest of await first.guests()) {
    if (guest.at > now - longMs) continue
    const run = await stores[partitionOf(guest.workerId)]?.guestRun(guest)
    if (run === undefined) continue
    const { workerId, name, key } = guest
    const why = run === null ? 'which has no record' : 'whose run is over'
    if (run !== null && (!run.isOver || run.recordedAt > now - longMs)) continue
    const what = `key ${key} has "${name}" of worker ${idText(workerId)}, ${why}: it keeps others waiting; a node that runs removes it within a minute, else remove it from the key`
    found.push({ invariant: 'I18', rule: `orphan-guest ${key}`, sessionId: null, workerId, what, involved: [workerId] })
  }
  return found
}
