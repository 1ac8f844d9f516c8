/** Duty: the nodes of a namespace as programs see them. */
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import type { NodeRow } from '../../store/record/register-line.ts'
import type { NodeSummary } from '../summaries.ts'

/** `stalled`: the nodes that were not seen for the time of a lease. */
export async function nodeSummaries(store: InspectStore): Promise<Record<'live' | 'stalled', NodeSummary[]>> {
  const now = await store.now()
  const { live, stalled } = await store.nodesBySight()
  const summaries = (rows: readonly NodeRow[]) => rows.map((row) => nodeSummary(row, now))
  return { live: summaries(live), stalled: summaries(stalled) }
}

function nodeSummary(row: NodeRow, now: number): NodeSummary {
  const { pid, host, draining } = row.facts as { pid?: number; host?: string; draining?: unknown }
  return {
    id: row.id,
    lastSeenMs: Math.max(0, now - row.lastSeen),
    slots: row.slots,
    pools: row.pools,
    kinds: row.kinds,
    pid: pid ?? null,
    host: host ?? null,
    ...(typeof draining === 'number' && { draining }),
  }
}
