/**
 * Duty: the page of metrics: what this process has counted, and how the namespace stands at this moment.
 * METRICS-PAGE-1 While Redis cannot be read, the page still has what the process counted, and `troupe_up` is 0. It does not wait for long either: a
 *    monitor that gives up knows nothing.
 */
import type { MetricName } from '../../telemetry/metric-catalogue.ts'
import { MetricSet, type Sample } from '../../telemetry/metric-set.ts'
import { type Gauges, metricsText } from '../../telemetry/metrics-text.ts'
import type { NamespaceFacts } from './namespace-facts.ts'

/** A Redis that does not answer within this time counts as one that cannot be read. */
const factsMsMax = 2_000

/** `counted` and `own`: what this process has counted. Absent in a process that counts nothing. */
export async function metricsPage(
  readFacts: () => Promise<NamespaceFacts>,
  counted = new MetricSet(),
  own: Gauges = {},
): Promise<string> {
  const facts = await soon(readFacts())
  const state = facts === null ? { troupe_up: 0 } : { ...namespaceGauges(facts), troupe_up: 1 }
  return metricsText(counted, { ...processGauges(), ...own, ...state })
}

/** Null if the reading fails, or takes too long. */
async function soon(reading: Promise<NamespaceFacts>): Promise<NamespaceFacts | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(resolve, factsMsMax, null)
  try {
    return await Promise.race([reading.catch(() => null), late])
  } finally {
    clearTimeout(timer)
  }
}

function processGauges(): Gauges {
  const { user, system } = process.cpuUsage()
  return {
    process_resident_memory_bytes: process.memoryUsage.rss(),
    process_cpu_seconds_total: (user + system) / 1e6,
    process_start_time_seconds: Math.round(performance.timeOrigin) / 1_000,
  }
}

function namespaceGauges(facts: NamespaceFacts): Gauges {
  const { pools, asks, unhosted, audit } = facts
  const each = <Row>(rows: readonly Row[], label: keyof Row & string, value: (row: Row) => number): Sample[] =>
    rows.map((row) => ({ labels: { [label]: String(row[label]) }, value: value(row) }))
  const gauges: Partial<Record<MetricName, number | Sample[]>> = {
    troupe_waiting_workers: each(pools, 'pool', ({ waiting }) => waiting),
    troupe_oldest_waiting_seconds: each(pools, 'pool', ({ oldestMs }) => oldestMs / 1_000),
    troupe_nodes: each(pools, 'pool', ({ nodes }) => nodes),
    troupe_unhosted_workers: each(unhosted, 'kind', ({ workers }) => workers),
    troupe_running_workers: facts.running,
    troupe_expired_leases: facts.expiredLeases,
    troupe_timers: facts.timers,
    troupe_stalled_nodes: facts.stalledNodes,
    troupe_namespace_slots: facts.slots,
    troupe_dead_letters: facts.deadLetters,
    troupe_asks_waiting: each(asks, 'sort', ({ waiting }) => waiting),
    troupe_ask_oldest_seconds: each(asks, 'sort', ({ oldestMs }) => oldestMs / 1_000),
    troupe_paused: facts.isPaused ? 1 : 0,
    troupe_redis_used_memory_bytes: facts.redis.usedBytes,
    troupe_redis_memory_ratio: facts.redis.fullest,
  }
  if (audit === null) return gauges
  return {
    ...gauges,
    troupe_audit_unaccounted_messages: audit.unaccounted,
    troupe_audit_findings: audit.findings,
    troupe_audit_age_seconds: audit.agoMs / 1_000,
  }
}
