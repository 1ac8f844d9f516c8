/** Duty: judge what one server of Redis says of itself. */
import type { ServerFacts } from '../../store/redis/server-facts.ts'
import { type Finding, finding } from './finding.ts'
import type { Health } from './health.ts'

const skewMsMax = 2_000
const setBackMsMax = 86_400_000
const memoryWarning = 0.8
const memoryProblem = 0.95

export function judgeServer(facts: ServerFacts): Finding[] {
  return [
    judgeVersion(facts),
    ...judgeWrites(facts),
    ...judgeAccess(facts),
    judgeEviction(facts),
    ...judgePersistence(facts),
    judgeMemory(facts),
    judgeClock(facts),
  ]
}

/** Judges a replica in a cluster by what will count once it takes over. */
export function judgeReplica(facts: ServerFacts): Finding[] {
  const isAway = facts.info.master_link_status === 'down'
  return [
    judgeVersion(facts),
    ...(isAway ? [finding('replica_behind', 'warning', {})] : []),
    judgeEviction(facts),
    ...judgePersistence(facts),
    judgeMemory(facts),
    judgeClock(facts),
  ]
}

/** For each release line, the first version that fixes CVE-2025-49844 and similar faults of the Lua engine. */
const corrected: Readonly<Record<string, readonly string[]>> = {
  Redis: ['6.2.20', '7.2.11', '7.4.6', '8.0.4', '8.2.2'],
  Valkey: ['7.2.11', '8.0.6', '8.1.4'],
}

/** CVE-2026-23479 holds for versions from the first of these to the one before the second. */
const memoryFault = ['7.2.0', '8.6.3'] as const

function isWithin(version: string, [from, before]: readonly [string, string]): boolean {
  const number = (text: string) => text.split('.').reduce((sum, part) => sum * 1_000 + (Number(part) || 0), 0)
  return number(version) >= number(from) && number(version) < number(before)
}

function judgeVersion({ version: redisVersion, info }: ServerFacts): Finding {
  const server = info.valkey_version === undefined ? 'Redis' : 'Valkey'
  const version = info.valkey_version ?? redisVersion
  const line = version.split('.').slice(0, 2).join('.')
  const fixed = corrected[server]?.find((one) => one.startsWith(`${line}.`))
  const isOld = fixed !== undefined && Number(version.split('.')[2]) < Number(fixed.split('.')[2])
  const hasKnownFaults = isOld || (server === 'Redis' && isWithin(version, memoryFault))
  return finding('redis_version', hasKnownFaults ? 'warning' : 'ok', { server, version, hasKnownFaults })
}

/** Returns only the first that is true, because the others may follow from it. */
function judgeWrites({ refusal, role, info }: ServerFacts): Finding[] {
  if (refusal !== null) return [finding('redis_refuses_writes', 'problem', { why: refusal.why, advice: refusal.todo })]
  if (role === 'slave' || role === 'replica') return [finding('redis_is_replica', 'problem', { role })]
  // Redis reports the number of good replicas only if it requires some, and never how many it requires.
  return info.min_slaves_good_slaves === '0' ? [finding('replicas_missing', 'problem', {})] : []
}

function judgeAccess({ access }: ServerFacts): Finding[] {
  if (!access.hasPassword) return [finding('redis_without_password', 'warning', {})]
  const { user, mayLoadFunctions } = access
  return mayLoadFunctions && user !== 'default' ? [finding('user_may_load_functions', 'warning', { user })] : []
}

function judgeEviction({ evictionPolicy: policy }: ServerFacts): Finding {
  const isSafe = policy === 'noeviction'
  if (isSafe) return finding('eviction', 'ok', { policy, isSafe })
  return finding(
    'eviction',
    'problem',
    { policy, isSafe },
    { command: 'redis-cli config set maxmemory-policy noeviction' },
  )
}

function judgePersistence({ appendOnly, info }: ServerFacts): Finding[] {
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

function judgeMemory({ usedBytes, maxBytes }: ServerFacts): Finding {
  const share = maxBytes === 0 ? null : usedBytes / maxBytes
  const facts = { usedBytes, maxBytes, share }
  if (share === null || share < memoryWarning) return finding('memory', 'ok', facts)
  const command = 'troupe session prune --older-than 1d'
  return finding('memory', share < memoryProblem ? 'warning' : 'problem', facts, { command })
}

function judgeClock({ clockSkewMs: skewMs }: ServerFacts): Finding {
  const agrees = Math.abs(skewMs) < skewMsMax
  return finding('clock', agrees ? 'ok' : 'warning', { skewMs, agrees })
}

/** This is reported for a day: what was measured by that clock meanwhile looks odd. */
export function judgeSetBack({ clockSetBack }: Health['redis']): Finding[] {
  if (clockSetBack === null || clockSetBack.agoMs > setBackMsMax) return []
  return [finding('clock_set_back', 'warning', clockSetBack)]
}
