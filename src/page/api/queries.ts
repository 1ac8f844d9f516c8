/** Duty: what the screens read, as queries that repeat themselves while the page is in sight. */
import { keepPreviousData, QueryClient, useQuery } from '@tanstack/react-query'
import type { AuditReport } from '../../audit/audit.ts'
import type { NodeReport } from '../../client/fleet/node-handle.ts'
import type { FindingLevel } from '../../client/health/finding.ts'
import type { Health } from '../../client/health/health.ts'
import type { Approval } from '../../client/person/approvals.ts'
import type { Ask } from '../../client/person/asks.ts'
import type { Report, WorkerReport } from '../../client/report.ts'
import type { RetryOutlook } from '../../client/session/run/retry.ts'
import type { Timeline } from '../../client/session/timeline.ts'
import type { DeadLetter, KindSummary, ListedSession, NodeSummary } from '../../client/summaries.ts'
import type { UsageRow } from '../../client/usage.ts'
import type { Delivery, DeliveryDetails, Webhook } from '../../client/webhook/webhook.ts'
import type { Mail } from '../../core/worker/message/message.ts'
import { ApiError, get, isPruned, type Query } from './http.ts'
import { useRefresh } from './liveness.ts'

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) =>
        failures < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
      retryDelay: 500,
      placeholderData: keepPreviousData,
      refetchOnWindowFocus: true,
    },
  },
})

const listMs = 2_000
const slowListMs = 5_000
const timelineMs = 30_000

/** The value of a query that is one GET. */
function useGet<Reply>(path: string, ms: number, query: Query = {}, enabled = true) {
  const refreshMs = useRefresh(ms)
  return useQuery({
    queryKey: [path, query],
    queryFn: ({ signal }) => get<Reply>(path, { query, signal }),
    refetchInterval: ({ state }) => (isPruned(state.error) ? false : refreshMs),
    enabled,
  })
}

export type SessionsFilter = {
  readonly state?: string | undefined
  readonly kind?: string | undefined
  readonly name?: string | undefined
}

/** The server takes no higher limit. */
const sessionsAtOnce = 500

interface Listed {
  /** Partitions of a cluster that did not answer: what is in them is not listed. */
  readonly away: readonly number[]
}

interface Sessions extends Listed {
  readonly sessions: readonly ListedSession[]
  /** True if there are earlier ones that were not looked at. */
  readonly hasMore: boolean
}

interface Page extends Listed {
  readonly nextCursor: string | null
}

interface SessionsPage extends Page {
  readonly sessions: readonly ListedSession[]
}

/** The newest sessions that fit, read in at most so many pages. A page may have fewer than `pageSize`, or none, and a next one. */
export function useSessions(filter: SessionsFilter, pageSize: number, pages = 1) {
  const refetchInterval = useRefresh(listMs * pages)
  return useQuery({
    queryKey: ['sessions', filter, pageSize, pages],
    queryFn: ({ signal }) => readSessions({ ...filter }, pageSize, pages, signal),
    refetchInterval,
  })
}

async function readSessions(filter: Query, pageSize: number, pages: number, signal: AbortSignal): Promise<Sessions> {
  const sessions: ListedSession[] = []
  const away = new Set<number>()
  let cursor: string | undefined
  for (let read = 0; read < pages && sessions.length < pages * pageSize; read++) {
    const limit = Math.min(sessionsAtOnce, pages * pageSize - sessions.length)
    const query = { ...filter, limit, cursor }
    const page = await get<SessionsPage>('sessions', { query, signal })
    sessions.push(...page.sessions)
    for (const partition of page.away) away.add(partition)
    if (page.nextCursor === null) return { sessions, hasMore: false, away: [...away] }
    cursor = page.nextCursor
  }
  return { sessions, hasMore: true, away: [...away] }
}

/** How many of those that wait for somebody are shown at once: the oldest. */
const asksMost = 100
type AsksFilter = { readonly session?: string }
export const useApprovals = (filter: AsksFilter = {}) =>
  useGet<Page & { readonly approvals: readonly Approval[] }>('approvals', listMs, {
    ...filter,
    limit: asksMost,
  })
export const useAsks = (filter: AsksFilter = {}) =>
  useGet<Page & { readonly asks: readonly Ask[] }>('asks', listMs, {
    ...filter,
    limit: asksMost,
  })
/** How many letters are shown at once: the newest. Each may hold a large message. */
export const lettersMost = 100
interface Letters extends Listed {
  readonly letters: readonly DeadLetter[]
}
/** Letters that somebody must still deal with, however many newer ones were dealt with. */
export const useOpenLetters = () => useGet<Letters>('dead', slowListMs, { open: true, limit: lettersMost })
/** Those that were dealt with as well. */
export const useDeadLetters = (isWanted: boolean) =>
  useGet<Letters>('dead', slowListMs, { limit: lettersMost }, isWanted)

/** How a failed session would go on. */
export const useRetryOutlook = (id: string) => useGet<RetryOutlook>(`sessions/${id}/retry`, slowListMs)

/** With nodes that stand still. */
export const useNodes = () => useGet<{ readonly nodes: readonly NodeSummary[] }>('nodes', listMs, { stalled: true })
export const useNode = (id: string) => useGet<NodeReport>(`nodes/${id}`, listMs)
export const useKinds = () => useGet<{ readonly kinds: readonly KindSummary[] }>('kinds', slowListMs)

/** A finding of `troupe doctor` with its words. */
export interface ShownFinding {
  readonly code: string
  readonly level: FindingLevel
  readonly what: string
  readonly todo?: string
  readonly command?: string
  readonly workerIds?: readonly string[]
}
export type HealthView = Pick<Health, 'pools' | 'running' | 'timers' | 'paused'> & {
  readonly findings: readonly ShownFinding[]
}
export const useHealth = () => useGet<HealthView>('health', slowListMs)

/** The last audit of the server, and whether one runs. */
export interface AuditView {
  readonly state: 'none' | 'running' | 'done' | 'failed'
  readonly finishedAt: number | null
  readonly progress: { readonly sessions: number; readonly workers: number } | null
  readonly report: AuditReport | null
  readonly problem: { readonly detail: string } | null
}
export const useAudit = () => useGet<AuditView>('audit', listMs)

export const useWebhooks = () => useGet<{ readonly webhooks: readonly Webhook[] }>('webhooks', slowListMs)
export const useWebhook = (id: string) => useGet<Webhook>(`webhooks/${id}`, slowListMs)
/** The newest deliveries come first. `webhook`: only those to this endpoint. */
export const useDeliveries = (query: { readonly webhook?: string; readonly state?: string | undefined }) =>
  useGet<{ readonly deliveries: readonly Delivery[] }>('webhooks/deliveries', listMs, query)
export const useDelivery = (id: string) => useGet<DeliveryDetails>(`webhooks/deliveries/${id}`, listMs)

export const useUsage = (by: string) =>
  useGet<Listed & { readonly usage: readonly UsageRow[] }>('usage', slowListMs, { by })

export const useWorker = (id: string) => useGet<WorkerReport>(`workers/${id}`, slowListMs)

export const useMailbox = (workerId: string) =>
  useGet<{ readonly mails: readonly Mail[] }>(`workers/${workerId}/mailbox`, listMs, { limit: 200 })

/** The follower of a session says when it has changed; these times are for changes that it misses. */
export const useReport = (id: string) => useGet<Report>(`sessions/${id}`, slowListMs)
export const useTimeline = (id: string) => useGet<Timeline>(`sessions/${id}/timeline`, timelineMs)
