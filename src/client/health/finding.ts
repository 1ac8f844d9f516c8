/**
 * Duty: what a finding about the health of a system is. It is a code with its facts, so that a command line, a page or an API can show it.
 * Does not own: the words for people. Whoever shows findings has a text for each code (src/words/finding-text.ts).
 * FINDING-1 The levels: `ok`, all is well; `warning`, it works, but somebody should know; `problem`, work waits or may be lost.
 */
import type { ExpiredWorker } from '../../store/worker/leases.ts'
import type { Health } from './health.ts'
import type { HeldUpWorker } from './held-up.ts'
import type { StrandedReason } from './stranded.ts'

export type FindingLevel = 'ok' | 'warning' | 'problem'

/** A node as findings name it. */
export interface NamedNode {
  readonly host: string | null
  readonly pid: number | null
}

/** The facts of each code. */
export interface FindingFacts {
  redis_version: { readonly server: 'Redis' | 'Valkey'; readonly version: string; readonly hasKnownFaults: boolean }
  redis_refuses_writes: { readonly why: string; readonly advice: string }
  redis_is_replica: { readonly role: string }
  replicas_missing: object
  /** Everybody who reaches the Redis may do everything. */
  redis_without_password: object
  /** The user of this connection may replace code that others run. */
  user_may_load_functions: { readonly user: string }
  /** A server of a cluster did not answer, or refused the login. */
  server_unread: { readonly why: string }
  /** A replica has lost its primary, or is being filled. */
  replica_behind: object
  /** `doubting`: servers that take the cluster for broken. */
  cluster_state: {
    readonly primaries: number
    readonly replicas: number
    readonly slotsMissing: number
    readonly doubting: readonly string[]
  }
  /** How many of its primaries have keys of the namespace. */
  cluster_partitions: { readonly partitions: number; readonly primaries: number; readonly used: number }
  /** Primaries that have keys of the namespace, and no healthy replica. */
  cluster_without_replica: { readonly servers: readonly string[] }
  /** Servers that refuse their own slots, too, while any slot is without a server. */
  cluster_needs_all_slots: { readonly servers: readonly string[] }
  /** What their sessions do is not known. */
  partitions_away: { readonly partitions: readonly number[] }
  eviction: { readonly policy: string; readonly isSafe: boolean }
  append_only_file: { readonly isKept: boolean }
  write_to_disk_failed: { readonly file: 'append_only_file' | 'append_only_rewrite' | 'snapshot' }
  /** `share` of the limit; null without a limit. */
  memory: { readonly usedBytes: number; readonly maxBytes: number; readonly share: number | null }
  /** How far the clock of Redis is ahead of that of this process. */
  clock: { readonly skewMs: number; readonly agrees: boolean }
  clock_set_back: { readonly ms: number; readonly agoMs: number }
  /** Live nodes that take up work, with their slots, and those that drain. */
  nodes: {
    readonly nodes: readonly NamedNode[]
    readonly draining: readonly NamedNode[]
    readonly slots: number
    readonly turns: number
  }
  /** The number of partitions was raised, and they do not work in all yet. */
  nodes_behind: { readonly nodes: readonly NamedNode[] }
  nodes_cannot_report: object
  /** No node takes up work: none is live, or all drain. */
  no_node: {
    readonly workers: number
    readonly jobs: number
    readonly wasOneEver: boolean
    readonly draining: readonly NamedNode[]
  }
  kind_unhosted: {
    readonly kind: string
    readonly workers: number
    /** True if more of them exist than were read. */
    readonly isAtLeast: boolean
    readonly oldestMs: number
  }
  workers_unreadable: { readonly workers: number }
  workers_stranded: { readonly workers: number; readonly reason: StrandedReason }
  /** The first of them is quoted: it stands in the list of workers of this session, or, if that is null, in the index of sessions. */
  wrong_entries: { readonly entries: number; readonly sessionId: string | null; readonly entry: string }
  /** Workers that wait for a slot. */
  run_queue: { readonly workers: number; readonly oldestMs: number; readonly isLong: boolean }
  all_paused: { readonly by: string | null; readonly why: string | null; readonly at: number }
  sessions_paused: { readonly sessions: readonly string[] }
  /** Workers that wait for somebody outside: the worker that waits longest, and some more. */
  workers_held_up: { readonly workers: number; readonly some: readonly HeldUpWorker[] }
  /** Runs that wait for others of their kind: `concurrency` or `rate` of the kind says so. The gates at which the most runs wait come first. */
  runs_limited: { readonly runs: number; readonly gates: Health['gates'] }
  submissions_paused: { readonly jobs: number; readonly prefix: string }
  /** Requests to webhooks, which wait in BullMQ's queue `deliveries`. */
  deliveries_paused: { readonly requests: number; readonly prefix: string }
  submissions_misplaced: { readonly jobs: number; readonly prefix: string; readonly rightPrefix: string }
  wakeups_paused: { readonly pool: string; readonly prefixes: readonly string[] }
  nodes_stalled: {
    readonly nodes: readonly {
      readonly host: string | null
      readonly pid: number | null
      readonly lastSeenMs: number
    }[]
  }
  /** `workers`: some of them. `kind`, and what is known of the cause. */
  leases_expired: {
    readonly leases: number
    readonly isNodeLive: boolean
    readonly workers: readonly ExpiredWorker[]
  }
  /** Endpoints that do not accept what they are told, and one of them. */
  webhooks_failing: { readonly webhooks: number; readonly host: string; readonly reason: string | null }
  dead_letters: { readonly kept: number; readonly open: number }
}

export type FindingCode = keyof FindingFacts

type FindingOf<Code extends FindingCode> = {
  readonly [Each in Code]: {
    readonly code: Each
    readonly level: FindingLevel
    readonly facts: FindingFacts[Each]
    /** The workers that the finding is about. The first one is the one to look at. */
    readonly workerIds?: readonly string[]
    /** A command that helps. */
    readonly command?: string
    /** The server of a cluster that the finding is about, by host and port. */
    readonly server?: string
    /** How many servers of a cluster have the same finding. */
    readonly servers?: number
  }
}[Code]

export type Finding = FindingOf<FindingCode>

export function finding<Code extends FindingCode>(
  code: Code,
  level: FindingLevel,
  facts: FindingFacts[Code],
  more: Pick<Finding, 'workerIds' | 'command'> = {},
): Finding {
  return { code, level, facts, ...more } as unknown as Finding
}
