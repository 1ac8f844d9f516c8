/**
 * Duty: every metric of troupe: its name, type, labels and meaning. docs/reference/metrics.md is generated from it.
 * METRICS-1 No label names a session, a worker or a call: the number of series grows with kinds, models, tools and pools alone.
 * METRICS-2 Counters that alerts watch have no labels. So they are 0 from the start, and the first event is an increase that Prometheus sees.
 */

export type MetricType = 'counter' | 'gauge' | 'histogram'

/** Who knows its value: only the process that is asked, or the namespace, so that every process gives the same answer. */
export type MetricScope = 'process' | 'namespace'

export interface MetricFacts {
  readonly type: MetricType
  readonly scope: MetricScope
  readonly labels: readonly string[]
  readonly help: string
}

function of(type: MetricType, scope: MetricScope) {
  return (help: string, ...labels: readonly string[]): MetricFacts => ({ type, scope, labels, help })
}

const counter = of('counter', 'process')
const histogram = of('histogram', 'process')
const gauge = of('gauge', 'process')
const state = of('gauge', 'namespace')

export const metrics = {
  troupe_turns_total: counter(
    'Turns that ended. outcome: ended; waits, at a gate of the kind; or why the node gave the turn up: fenced, stale, unreachable, blocked.',
    'kind',
    'outcome',
  ),
  troupe_turn_seconds: histogram('How long a turn lasted, from its claim to its end.', 'kind'),
  troupe_claim_delay_seconds: histogram('How long a worker stood in the run queue before its claim.', 'pool'),
  troupe_runs_total: counter('Runs that ended, as recorded.', 'kind', 'outcome'),
  troupe_run_failures_total: counter('Runs that failed, by the code of their failure.', 'kind', 'code'),
  troupe_runs_recovered_total: counter('Turns that took over from a turn that recorded nothing.', 'kind'),
  troupe_leases_lost_total: counter(
    'Leases that ended during a turn, as sweeps of this node found them. The workers go on elsewhere.',
  ),
  troupe_unknown_outcomes_total: counter('Tool calls of which nobody knows whether they took effect.'),
  troupe_quarantined_total: counter('Runs that were put aside after five starts without a commit.'),
  troupe_budget_exceeded_total: counter('Runs that failed because their session may spend no more.'),
  troupe_model_calls_total: counter('Model calls. outcome: replied or failed.', 'kind', 'model', 'outcome'),
  troupe_model_call_seconds: histogram('How long a model call lasted.', 'model'),
  troupe_tokens_total: counter('Tokens of model calls. direction: input or output.', 'kind', 'model', 'direction'),
  troupe_spend_usd_total: counter('What model calls cost, in dollars, by the prices of their moment.', 'kind', 'model'),
  troupe_unpriced_calls_total: counter(
    'Model calls that are not in it, because nobody knows the price of their model.',
    'kind',
    'model',
  ),
  troupe_tool_calls_total: counter(
    'Tool calls, each attempt. outcome: done, failed, transient, unfinished.',
    'kind',
    'tool',
    'outcome',
  ),
  troupe_tool_call_seconds: histogram('How long an attempt of a tool call lasted.', 'tool'),
  troupe_slots: gauge('Slots of this node.'),
  troupe_slots_used: gauge('Turns that this node runs now.'),
  process_resident_memory_bytes: gauge('Memory of this process.'),
  process_cpu_seconds_total: counter('Processor time of this process.'),
  process_start_time_seconds: gauge('When this process began, in seconds since 1970.'),

  troupe_waiting_workers: state(
    'Workers in the run queue. The pool "unhosted": no node ever hosted their kind.',
    'pool',
  ),
  troupe_oldest_waiting_seconds: state(
    'How long the oldest of the first workers of the run queue has waited; 0 if none waits.',
    'pool',
  ),
  troupe_unhosted_workers: state(
    'Waiting workers whose kind no live node hosts, among the first 100 of each pool.',
    'kind',
  ),
  troupe_running_workers: state('Workers that a node holds a lease of.'),
  troupe_expired_leases: state('Leases that have ended and that no sweep has taken away yet.'),
  troupe_timers: state('Timers and retries that will come due.'),
  troupe_nodes: state('Live nodes that host a pool.', 'pool'),
  troupe_stalled_nodes: state('Nodes that were not seen for the time of a lease.'),
  troupe_namespace_slots: state('Slots of all live nodes.'),
  troupe_dead_letters: state('Dead letters that nobody put back or dismissed.'),
  troupe_asks_waiting: state(
    'What waits for an answer of somebody outside, by its sort; counted up to the oldest 500 of a partition.',
    'sort',
  ),
  troupe_ask_oldest_seconds: state('For how long the oldest of them has waited; 0 if none does.', 'sort'),
  troupe_paused: state('1 while all sessions are paused.'),
  troupe_audit_unaccounted_messages: state(
    'Findings of the last recorded audit about messages that are lost, doubled or in no known place. Absent until `troupe audit --record` ran.',
  ),
  troupe_audit_findings: state('Contradictions that the last recorded audit found.'),
  troupe_audit_age_seconds: state('How long ago that audit ended.'),
  troupe_redis_used_memory_bytes: state('Memory that Redis uses; all primary servers of a cluster together.'),
  troupe_redis_memory_ratio: state(
    'Part of the memory that Redis may use that it uses; of a cluster, that of its fullest primary server. 0 if there is no limit.',
  ),
  troupe_up: state(
    '1 if the namespace could be read for this answer, else 0; then the metrics of the namespace are absent.',
  ),
} satisfies Readonly<Record<string, MetricFacts>>

export type MetricName = keyof typeof metrics

/** Upper bounds of the buckets of all histograms, in seconds. */
export const bucketBounds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300] as const
