/**
 * Duty: judge the health of Redis, nodes and queues. A finding is a code with its facts, so that a command line, a page or an API can show it.
 * Does not own: the words for people. Whoever shows findings has a text for each code (src/cli/view/finding-text.ts).
 * FINDING-1 The levels: `ok`, all is well; `warning`, it works, but somebody should know; `problem`, work waits or may be lost.
 */
import { unhostedPool } from '../../core/ids.ts'
import type { ExpiredWorker } from '../../store/leases.ts'
import type { Health } from './health.ts'
import type { HeldUpWorker } from './held-up.ts'
import type { StrandedReason } from './stranded.ts'

export type FindingLevel = 'ok' | 'warning' | 'problem'

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
  eviction: { readonly policy: string; readonly isSafe: boolean }
  append_only_file: { readonly isKept: boolean }
  write_to_disk_failed: { readonly file: 'append_only_file' | 'append_only_rewrite' | 'snapshot' }
  /** `share` of the limit; null without a limit. */
  memory: { readonly usedBytes: number; readonly maxBytes: number; readonly share: number | null }
  /** How far the clock of Redis is ahead of that of this process. */
  clock: { readonly skewMs: number; readonly agrees: boolean }
  clock_set_back: { readonly ms: number; readonly agoMs: number }
  nodes: {
    readonly nodes: readonly { readonly host: string | null; readonly pid: number | null }[]
    readonly slots: number
    readonly turns: number
  }
  nodes_cannot_report: object
  no_node: { readonly workers: number; readonly jobs: number; readonly wasOneEver: boolean }
  kind_unhosted: {
    readonly kind: string
    readonly workers: number
    /** More of them exist than were read. */
    readonly isAtLeast: boolean
    readonly oldestMs: number
  }
  workers_unreadable: { readonly workers: number }
  workers_stranded: { readonly workers: number; readonly reason: StrandedReason }
  /** The first is quoted: it stands in the list of workers of this session; in the index of sessions if that is null. */
  wrong_entries: { readonly entries: number; readonly sessionId: string | null; readonly entry: string }
  /** Workers that wait for a slot. */
  run_queue: { readonly workers: number; readonly oldestMs: number; readonly isLong: boolean }
  all_paused: { readonly by: string | null; readonly why: string | null; readonly at: number }
  sessions_paused: { readonly sessions: readonly string[] }
  /** Workers that wait for somebody outside: the one that waits longest, and some more. */
  workers_held_up: { readonly workers: number; readonly some: readonly HeldUpWorker[] }
  /** Runs that wait for others of their kind: `concurrency` or `rate` of the kind says so. The gates with the most of them, first. */
  runs_limited: { readonly runs: number; readonly gates: Health['gates'] }
  submissions_paused: { readonly jobs: number }
  submissions_misplaced: { readonly jobs: number; readonly prefix: string; readonly rightPrefix: string }
  wakeups_paused: { readonly pool: string; readonly prefixes: readonly string[] }
  nodes_stalled: {
    readonly nodes: readonly {
      readonly host: string | null
      readonly pid: number | null
      readonly lastSeenMs: number
    }[]
  }
  /** `workers`: some of them, `kind` and what is known of the cause. */
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
    /** The workers that it is about. The first is the one to look at. */
    readonly workerIds?: readonly string[]
    /** A command that helps. */
    readonly command?: string
  }
}[Code]

export type Finding = FindingOf<FindingCode>

const waitMsMax = 60_000
/** Within about a second a sweep moves a worker out of the unhosted pool once a node hosts its kind. */
const asideMsMax = 10_000
/** How many of the workers that wait for somebody are named. */
const namedMost = 3
const skewMsMax = 2_000
const setBackMsMax = 86_400_000
const memoryWarning = 0.8
const memoryProblem = 0.95

export function judge(health: Health): Finding[] {
  return [
    judgeVersion(health.redis),
    ...judgeWrites(health.redis),
    ...judgeAccess(health.redis),
    judgeEviction(health.redis),
    ...judgePersistence(health.redis),
    judgeMemory(health.redis),
    judgeClock(health.redis),
    ...judgeSetBack(health.redis),
    judgeNodes(health),
    ...judgeUnhosted(health),
    ...judgeAside(health),
    ...judgeStranded(health),
    ...judgeWrongEntries(health),
    ...judgePauses(health),
    ...judgeHeldUp(health),
    ...judgeGates(health),
    ...judgeQueue(health),
    ...judgeSubmissions(health),
    ...judgeWakeups(health),
    ...judgeStalled(health),
    ...judgeLeases(health),
    ...judgeWebhooks(health),
    judgeDeadLetters(health),
  ]
}

type RedisFacts = Health['redis']

function finding<Code extends FindingCode>(
  code: Code,
  level: FindingLevel,
  facts: FindingFacts[Code],
  more: Pick<Finding, 'workerIds' | 'command'> = {},
): Finding {
  return { code, level, facts, ...more } as unknown as Finding
}

/** For each release line, the first version that fixes CVE-2025-49844 and similar faults of the Lua engine. */
const corrected: Readonly<Record<string, readonly string[]>> = {
  Redis: ['6.2.20', '7.2.11', '7.4.6', '8.0.4', '8.2.2'],
  Valkey: ['7.2.11', '8.0.6', '8.1.4'],
}

/** CVE-2026-23479: from the first version to the one before the second. */
const memoryFault = ['7.2.0', '8.6.3'] as const

function isWithin(version: string, [from, before]: readonly [string, string]): boolean {
  const number = (text: string) => text.split('.').reduce((sum, part) => sum * 1_000 + (Number(part) || 0), 0)
  return number(version) >= number(from) && number(version) < number(before)
}

function judgeVersion({ version: redisVersion, info }: RedisFacts): Finding {
  const server = info.valkey_version === undefined ? 'Redis' : 'Valkey'
  const version = info.valkey_version ?? redisVersion
  const line = version.split('.').slice(0, 2).join('.')
  const fixed = corrected[server]?.find((one) => one.startsWith(`${line}.`))
  const isOld = fixed !== undefined && Number(version.split('.')[2]) < Number(fixed.split('.')[2])
  const hasKnownFaults = isOld || (server === 'Redis' && isWithin(version, memoryFault))
  return finding('redis_version', hasKnownFaults ? 'warning' : 'ok', { server, version, hasKnownFaults })
}

/** Returns only the first that is true, because the others may follow from it. */
function judgeWrites({ refusal, role, info }: RedisFacts): Finding[] {
  if (refusal !== null) return [finding('redis_refuses_writes', 'problem', { why: refusal.why, advice: refusal.todo })]
  if (role === 'slave' || role === 'replica') return [finding('redis_is_replica', 'problem', { role })]
  // Redis reports the number of good replicas only if it requires some, and never how many it requires.
  return info.min_slaves_good_slaves === '0' ? [finding('replicas_missing', 'problem', {})] : []
}

function judgeAccess({ access }: RedisFacts): Finding[] {
  if (!access.hasPassword) return [finding('redis_without_password', 'warning', {})]
  const { user, mayLoadFunctions } = access
  return mayLoadFunctions && user !== 'default' ? [finding('user_may_load_functions', 'warning', { user })] : []
}

function judgeEviction({ evictionPolicy: policy }: RedisFacts): Finding {
  const isSafe = policy === 'noeviction'
  if (isSafe) return finding('eviction', 'ok', { policy, isSafe })
  return finding(
    'eviction',
    'problem',
    { policy, isSafe },
    { command: 'redis-cli config set maxmemory-policy noeviction' },
  )
}

function judgePersistence({ appendOnly, info }: RedisFacts): Finding[] {
  const kept = appendOnly
    ? finding('append_only_file', 'ok', { isKept: true })
    : finding('append_only_file', 'problem', { isKept: false }, { command: 'redis-cli config set appendonly yes' })
  const failed = (status: string | undefined) => status !== undefined && status !== 'ok'
  const files = [
    appendOnly && failed(info.aof_last_write_status) ? 'append_only_file' : null,
    appendOnly && failed(info.aof_last_bgrewrite_status) ? 'append_only_rewrite' : null,
    failed(info.rdb_last_bgsave_status) ? 'snapshot' : null,
  ] as const
  const broken = files.flatMap((file) => (file === null ? [] : [finding('write_to_disk_failed', 'problem', { file })]))
  return [kept, ...broken]
}

function judgeMemory({ usedBytes, maxBytes }: RedisFacts): Finding {
  const share = maxBytes === 0 ? null : usedBytes / maxBytes
  const facts = { usedBytes, maxBytes, share }
  if (share === null || share < memoryWarning) return finding('memory', 'ok', facts)
  const command = 'troupe session prune --older-than 1d'
  return finding('memory', share < memoryProblem ? 'warning' : 'problem', facts, { command })
}

function judgeClock({ clockSkewMs: skewMs }: RedisFacts): Finding {
  const agrees = Math.abs(skewMs) < skewMsMax
  return finding('clock', agrees ? 'ok' : 'warning', { skewMs, agrees })
}

/** For a day: what was measured by that clock in this time looks odd. */
function judgeSetBack({ clockSetBack }: RedisFacts): Finding[] {
  if (clockSetBack === null || clockSetBack.agoMs > setBackMsMax) return []
  return [finding('clock_set_back', 'warning', clockSetBack)]
}

function judgeNodes({ redis, nodes, kinds, pools, running, submitted: jobs }: Health): Finding {
  if (nodes.length > 0) {
    const slots = nodes.reduce((total, node) => total + node.slots, 0)
    const named = nodes.map(({ host, pid }) => ({ host, pid }))
    return finding('nodes', 'ok', { nodes: named, slots, turns: running })
  }
  // Nodes report that they are live by writing to Redis.
  if (redis.refusal !== null) return finding('nodes_cannot_report', 'warning', {})
  const workers = pools.reduce((total, pool) => total + pool.queued, 0)
  const level = workers + jobs === 0 ? 'warning' : 'problem'
  // Redis keeps every kind that a node ever hosted.
  const facts = { workers, jobs, wasOneEver: kinds.length > 0 }
  return finding('no_node', level, facts, { command: 'troupe node --workers ./workers' })
}

function judgeUnhosted({ unhosted, aside, pools, nodes }: Health): Finding[] {
  if (nodes.length === 0) return []
  // `health` reads only the head of a long run queue. Workers stay in the queue of their pool even if all its nodes are gone.
  const served = new Set(nodes.flatMap((node) => node.pools))
  const queues = pools.filter(({ pool }) => pool === unhostedPool || !served.has(pool))
  const inQueues = queues.reduce((total, { queued }) => total + queued, 0)
  const isAtLeast = inQueues > unhosted.length + aside.length
  return [...Map.groupBy(unhosted, ({ kind }) => kind)].map(([kind, workers]) => {
    const [oldest, ...others] = workers.toSorted((a, b) => b.waitingMs - a.waitingMs) as [(typeof workers)[0]]
    const facts = { kind, workers: workers.length, isAtLeast, oldestMs: oldest.waitingMs }
    const workerIds = [oldest, ...others].map(({ id }) => id)
    return finding('kind_unhosted', 'problem', facts, { workerIds, command: `troupe worker show ${oldest.id}` })
  })
}

function judgePauses({ paused, pausedSessions: sessions }: Health): Finding[] {
  const ofAll =
    paused === null
      ? []
      : [
          finding(
            'all_paused',
            'problem',
            { by: paused.by ?? null, why: paused.why ?? null, at: paused.at },
            { command: 'troupe resume --all' },
          ),
        ]
  if (sessions.length === 0) return ofAll
  const command = `troupe session resume ${sessions[0]}`
  return [...ofAll, finding('sessions_paused', 'warning', { sessions }, { command })]
}

function judgeHeldUp({ heldUp }: Health): Finding[] {
  const [first] = heldUp
  if (first === undefined) return []
  const facts = { workers: heldUp.length, some: heldUp.slice(0, namedMost) }
  const command = first.holdup.command ?? `troupe worker show ${first.id}`
  return [finding('workers_held_up', 'warning', facts, { workerIds: heldUp.map(({ id }) => id), command })]
}

/** All is well: the author of the kind wants it so. */
function judgeGates({ gates }: Health): Finding[] {
  if (gates.length === 0) return []
  const runs = gates.reduce((sum, { waiting }) => sum + waiting, 0)
  const fullest = gates.toSorted((a, b) => b.waiting - a.waiting).slice(0, namedMost)
  return [finding('runs_limited', 'ok', { runs, gates: fullest })]
}

function judgeAside({ aside, nodes }: Health): Finding[] {
  const stuck = aside.filter(({ waitingMs }) => waitingMs > asideMsMax).sort((a, b) => b.waitingMs - a.waitingMs)
  if (stuck.length === 0 || nodes.length === 0) return []
  const workerIds = stuck.map(({ id }) => id)
  return [finding('workers_unreadable', 'problem', { workers: stuck.length }, { workerIds, command: 'troupe audit' })]
}

/** Such a worker waits for ever: neither a node nor a sweep finds it. */
function judgeStranded({ stranded }: Health): Finding[] {
  const [first] = stranded
  if (first === undefined) return []
  const facts = { workers: stranded.length, reason: first.reason }
  const workerIds = stranded.map(({ id }) => id)
  return [finding('workers_stranded', 'problem', facts, { workerIds, command: 'troupe audit' })]
}

/** They harm no worker. But whoever wrote them may have written over more. */
function judgeWrongEntries({ wrongEntries }: Health): Finding[] {
  const [first] = wrongEntries
  if (first === undefined) return []
  return [finding('wrong_entries', 'problem', { entries: wrongEntries.length, ...first }, { command: 'troupe audit' })]
}

function judgeQueue({ pools, nodes }: Health): Finding[] {
  if (nodes.length === 0) return []
  const waiting = pools.filter(({ queued, pool }) => queued > 0 && pool !== unhostedPool)
  const workers = waiting.reduce((total, pool) => total + pool.queued, 0)
  const oldestMs = Math.max(0, ...waiting.map((pool) => pool.oldestMs ?? 0))
  const isLong = oldestMs >= waitMsMax
  return [finding('run_queue', isLong ? 'warning' : 'ok', { workers, oldestMs, isLong })]
}

function judgeSubmissions({ submitted, submitIsPaused, misplaced, submitPrefix }: Health): Finding[] {
  const level = submitted === 0 ? 'warning' : 'problem'
  const paused = submitIsPaused ? [finding('submissions_paused', level, { jobs: submitted })] : []
  const others = misplaced.map(({ prefix, jobs }) =>
    finding('submissions_misplaced', 'problem', { jobs, prefix, rightPrefix: submitPrefix }),
  )
  return [...paused, ...others]
}

function judgeWakeups({ pausedWakeups }: Health): Finding[] {
  return [...Map.groupBy(pausedWakeups, ({ pool }) => pool)].map(([pool, queues]) =>
    finding('wakeups_paused', 'warning', { pool, prefixes: queues.map(({ prefix }) => prefix) }),
  )
}

function judgeStalled({ stalledNodes }: Health): Finding[] {
  if (stalledNodes.length === 0) return []
  const nodes = stalledNodes.map(({ host, pid, lastSeenMs }) => ({ host, pid, lastSeenMs }))
  return [finding('nodes_stalled', 'warning', { nodes })]
}

function judgeLeases({ redis, expiredLeases: leases, expiredWorkers: workers, nodes }: Health): Finding[] {
  if (leases === 0 || redis.refusal !== null) return []
  const isNodeLive = nodes.length > 0
  return [
    finding(
      'leases_expired',
      isNodeLive ? 'warning' : 'problem',
      { leases, isNodeLive, workers },
      { workerIds: workers.map(({ id }) => id) },
    ),
  ]
}

/** Of the address only the host: the rest of it is often a secret. */
function judgeWebhooks({ failingWebhooks }: Health): Finding[] {
  const [first] = failingWebhooks
  if (first === undefined) return []
  const facts = {
    webhooks: failingWebhooks.length,
    host: new URL(first.url).host,
    reason: first.failing?.reason ?? null,
  }
  return [finding('webhooks_failing', 'warning', facts, { command: `troupe webhook show ${first.id}` })]
}

function judgeDeadLetters({ deadLetters: kept, settled }: Health): Finding {
  const open = Math.max(0, kept - settled)
  if (open === 0) return finding('dead_letters', 'ok', { kept, open })
  return finding('dead_letters', 'warning', { kept, open }, { command: 'troupe mailbox dead' })
}
