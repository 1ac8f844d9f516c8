/** Duty: the nodes of a namespace as programs see them. */
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import { drainingIn, type NodeRow } from '../../store/record/register-line.ts'
import type { NodeSummary } from '../summaries.ts'

/** `stalled`: the nodes that were not seen for the time of a lease. */
export type NodesBySight = Record<'live' | 'stalled', NodeSummary[]>

export async function nodeSummaries(store: InspectStore): Promise<NodesBySight> {
  const { now, live, stalled } = await store.nodesBySight()
  const summaries = (rows: readonly NodeRow[]) => rows.map((row) => nodeSummary(row, now))
  return { live: summaries(live), stalled: summaries(stalled) }
}

/** Work that waits needs a node that takes it up. */
export function takesWork({ draining }: NodeSummary): boolean {
  return draining === undefined
}

/** How many of these nodes host each kind. Nodes that were read together share their lists of kinds: each list is gone through once. */
export function hostsByKind(nodes: readonly NodeSummary[]): ReadonlyMap<string, number> {
  const hosts = new Map<string, number>()
  for (const [kinds, own] of Map.groupBy(nodes, (node) => node.kinds))
    for (const kind of kinds) hosts.set(kind, (hosts.get(kind) ?? 0) + own.length)
  return hosts
}

function nodeSummary(row: NodeRow, now: number): NodeSummary {
  const { pid, host, signs } = row.facts as { pid?: number; host?: string; signs?: unknown }
  const draining = drainingIn(row)
  return {
    id: row.id,
    lastSeenMs: Math.max(0, now - row.lastSeen),
    slots: row.slots,
    pools: row.pools,
    kinds: row.kinds,
    pid: pid ?? null,
    host: host ?? null,
    ...(draining !== undefined && { draining }),
    ...(typeof signs === 'boolean' && { signs }),
  }
}
