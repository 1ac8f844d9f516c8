/**
 * Duty: judges the health of Redis, nodes and queues for `doctor`. Each finding states a fact; if something is wrong, it says what to do.
 * The levels: `ok`, all is well; `warning`, it works, but somebody should know; `problem`, work waits or may be lost.
 */
import type { Health } from '../../client/health/health.ts'
import { unhostedPool } from '../../core/ids.ts'
import { count, countWaiting } from './amounts.ts'
import { formatDuration } from './duration.ts'

export interface Finding {
  readonly level: 'ok' | 'warning' | 'problem'
  readonly what: string
  readonly todo?: string
}

const waitMsMax = 60_000
/** Within about a second a sweep moves a worker out of the unhosted pool once a node hosts its kind. */
const asideMsMax = 10_000
const skewMsMax = 2_000
const memoryWarning = 0.8
const memoryProblem = 0.95

export function judge(health: Health): Finding[] {
  return [
    judgeVersion(health.redis),
    judgeRefusal(health.redis) ?? judgeRole(health.redis) ?? judgeReplicas(health.redis),
    judgeEviction(health.redis),
    ...judgePersistence(health.redis),
    judgeMemory(health.redis),
    judgeClock(health.redis),
    judgeNodes(health),
    ...judgeUnhosted(health),
    ...judgeAside(health),
    ...judgeStranded(health),
    judgeQueue(health),
    judgeSubmissions(health),
    ...judgeMisplaced(health),
    ...judgeWakeups(health),
    ...judgeLeases(health),
    judgeDeadLetters(health),
  ].filter((finding) => finding !== undefined)
}

type RedisFacts = Health['redis']

/** For each release line, the first version that fixes CVE-2025-49844 and similar faults of the Lua engine. */
const corrected: Readonly<Record<string, readonly string[]>> = {
  Redis: ['6.2.20', '7.2.11', '7.4.6', '8.0.4', '8.2.2'],
  Valkey: ['7.2.11', '8.0.6', '8.1.4'],
}

function judgeVersion({ version, info }: RedisFacts): Finding {
  const name = info.valkey_version === undefined ? 'Redis' : 'Valkey'
  const running = info.valkey_version ?? version
  const what = `${name} ${running} answers`
  const line = running.split('.').slice(0, 2).join('.')
  const fixed = corrected[name]?.find((one) => one.startsWith(`${line}.`))
  const isOld = fixed !== undefined && Number(running.split('.')[2]) < Number(fixed.split('.')[2])
  if (!isOld) return { level: 'ok', what }
  const todo = 'update it, unless your distribution has patched it'
  return {
    level: 'warning',
    what: `${what}; this version has known faults in its Lua engine (CVE-2025-49844)`,
    todo,
  }
}

/** Other findings may follow from this one: nodes report that they are live by writing to Redis. */
function judgeRefusal({ refusal }: RedisFacts): Finding | undefined {
  if (refusal === null) return undefined
  return { level: 'problem', what: `it refuses writes (${refusal.why})`, todo: refusal.todo }
}

function judgeRole({ role }: RedisFacts): Finding | undefined {
  if (role !== 'slave' && role !== 'replica') return undefined
  return {
    level: 'problem',
    what: 'this Redis is a replica, and refuses the writes of troupe',
    todo: 'connect to its primary',
  }
}

/** Redis reports the number of good replicas only if it requires some, and never how many it requires. */
function judgeReplicas({ info }: RedisFacts): Finding | undefined {
  if (info.min_slaves_good_slaves !== '0') return undefined
  return {
    level: 'problem',
    what: 'it refuses writes while too few replicas are connected (min-replicas-to-write), and no replica is connected',
    todo: 'start the replicas, or lower min-replicas-to-write',
  }
}

function judgeEviction({ evictionPolicy }: RedisFacts): Finding {
  if (evictionPolicy === 'noeviction')
    return { level: 'ok', what: 'it never evicts keys (maxmemory-policy noeviction)' }
  const what = `it may evict keys, and so lose work (maxmemory-policy ${evictionPolicy})`
  return {
    level: 'problem',
    what,
    todo: 'redis-cli config set maxmemory-policy noeviction, and set the same in its configuration file',
  }
}

function judgePersistence({ appendOnly, info }: RedisFacts): Finding[] {
  const found: Finding[] = []
  if (appendOnly) {
    const what =
      'it writes an append-only file: a power cut loses nothing with appendfsync always, and up to about 2 s of work with everysec'
    found.push({ level: 'ok', what })
  } else {
    const todo = 'redis-cli config set appendonly yes, and set the same in its configuration file'
    found.push({
      level: 'problem',
      what: 'it keeps no append-only file: if it ends, all work since its last snapshot is lost',
      todo,
    })
  }
  const broken = [
    appendOnly && failed(info.aof_last_write_status) ? 'the append-only file' : undefined,
    appendOnly && failed(info.aof_last_bgrewrite_status) ? 'a rewrite of the append-only file' : undefined,
    failed(info.rdb_last_bgsave_status) ? 'the last snapshot' : undefined,
  ].filter((what) => what !== undefined)
  for (const what of broken) {
    found.push({
      level: 'problem',
      what: `it could not write ${what}, and may refuse commands`,
      todo: 'read its log, and check the free space on its disk',
    })
  }
  return found
}

function failed(status: string | undefined): boolean {
  return status !== undefined && status !== 'ok'
}

function judgeMemory({ usedBytes, maxBytes }: RedisFacts): Finding {
  if (maxBytes === 0)
    return { level: 'ok', what: `it uses ${formatBytes(usedBytes)} of memory, and has no memory limit` }
  const share = usedBytes / maxBytes
  const what = `it uses ${formatBytes(usedBytes)} of ${formatBytes(maxBytes)} of memory (${Math.round(share * 100)} %)`
  if (share < memoryWarning) return { level: 'ok', what }
  const todo = 'raise maxmemory, or remove old sessions with `troupe session prune --older-than 1d`'
  return {
    level: share < memoryProblem ? 'warning' : 'problem',
    what: `${what}; once memory is full it accepts no more work`,
    todo,
  }
}

function judgeClock({ clockSkewMs }: RedisFacts): Finding {
  const skew = Math.abs(clockSkewMs)
  if (skew < skewMsMax) return { level: 'ok', what: 'its clock agrees with the clock of this machine' }
  const what = `its clock is ${formatDuration(skew)} ${clockSkewMs > 0 ? 'ahead of' : 'behind'} the clock of this machine; leases follow the clock of Redis, but displayed times are off`
  return { level: 'warning', what, todo: 'synchronise both clocks with NTP' }
}

function judgeNodes({ redis, nodes, kinds, pools, running, submitted }: Health): Finding {
  const slots = nodes.reduce((total, node) => total + node.slots, 0)
  if (nodes.length > 0) {
    const names = nodes.map(({ host, pid }) => `${host ?? 'unknown host'}${pid === null ? '' : ` (${pid})`}`).join(', ')
    return {
      level: 'ok',
      what: `${count(nodes.length, 'node')} with ${count(slots, 'slot')} live: ${names}; ${count(running, 'turn')} running`,
    }
  }
  if (redis.refusal !== null) {
    const what = 'no node can report that it is live, because Redis refuses writes'
    return { level: 'warning', what, todo: 'run doctor again once Redis accepts writes' }
  }
  const waiting = pools.reduce((total, pool) => total + pool.queued, 0)
  const start = 'start one: troupe node --workers ./workers'
  // Redis keeps every kind that a node ever hosted, so no kinds means that no node was ever live.
  const namespace =
    'no node was ever live in this namespace: if you expected one, check --namespace or TROUPE_NAMESPACE'
  const todo = kinds.length > 0 ? start : `${start}; ${namespace}`
  const who = [waiting && count(waiting, 'worker'), submitted && count(submitted, 'submitted job')].filter(Boolean)
  if (who.length === 0) return { level: 'warning', what: 'no node is live', todo }
  const verb = waiting + submitted === 1 ? 'waits' : 'wait'
  return { level: 'problem', what: `no node is live, and ${who.join(' and ')} ${verb}`, todo }
}

function judgeUnhosted({ unhosted, aside, pools, nodes }: Health): Finding[] {
  if (nodes.length === 0) return []
  // `health` reads only the head of a long run queue. Workers stay in the queue of their pool even if all its nodes are gone.
  const served = new Set(nodes.flatMap((node) => node.pools))
  const queues = pools.filter(({ pool }) => pool === unhostedPool || !served.has(pool))
  const inQueues = queues.reduce((total, { queued }) => total + queued, 0)
  const least = inQueues > unhosted.length + aside.length ? 'at least ' : ''
  return [...Map.groupBy(unhosted, ({ kind }) => kind)].map(([kind, workers]) => {
    const oldest = workers.reduce((a, b) => (b.waitingMs > a.waitingMs ? b : a))
    const since = `the oldest for ${formatDuration(oldest.waitingMs)}`
    const start = `start a node whose workers folder has ${kind}.ts`
    return {
      level: 'problem',
      what: `no live node hosts the kind ${kind}: ${least}${countWaiting(workers.length, 'worker')}, ${since}`,
      todo: `${start}, or cancel their sessions; troupe worker show ${oldest.id} shows the session of the oldest`,
    }
  })
}

function judgeAside({ aside, nodes }: Health): Finding[] {
  const stuck = aside.filter(({ waitingMs }) => waitingMs > asideMsMax).sort((a, b) => b.waitingMs - a.waitingMs)
  const [oldest] = stuck
  if (oldest === undefined || nodes.length === 0) return []
  const them = stuck.length === 1 ? 'the worker' : 'each of them'
  return [
    {
      level: 'problem',
      what: `${countWaiting(stuck.length, 'worker')}, although a node hosts ${stuck.length === 1 ? 'its kind' : 'their kinds'}: part of the stored data of ${them} cannot be read`,
      todo: `run troupe audit to see what another program overwrote; the oldest is worker ${oldest.id}`,
    },
  ]
}

/** Such a worker waits for ever: neither a node nor a sweep finds it. */
function judgeStranded({ stranded }: Health): Finding[] {
  const [first] = stranded
  if (first === undefined) return []
  const others = stranded.length === 1 ? '' : `; ${stranded.length} of the newest workers are in such a state`
  return [
    {
      level: 'problem',
      what: `worker ${first.id} ${first.what}, because another program removed the entry that would wake it${others}`,
      todo: 'run troupe audit to list all of them; restore the removed entries, or cancel their sessions: they wait for ever',
    },
  ]
}

function judgeQueue({ pools, nodes }: Health): Finding | undefined {
  const waiting = pools.filter(({ queued, pool }) => queued > 0 && pool !== unhostedPool)
  if (waiting.length === 0 || nodes.length === 0)
    return nodes.length === 0 ? undefined : { level: 'ok', what: 'no worker waits for a slot' }
  const queued = waiting.reduce((total, pool) => total + pool.queued, 0)
  const oldestMs = Math.max(...waiting.map((pool) => pool.oldestMs ?? 0))
  const what = `${countWaiting(queued, 'worker')} for a slot, the oldest for ${formatDuration(oldestMs)}`
  if (oldestMs < waitMsMax) return { level: 'ok', what }
  const todo =
    'check whether turns hang (docs/operations.md, "When work stands still"); if not, start another node or raise --concurrency'
  return { level: 'warning', what, todo }
}

const resume = 'resume it with queue.resume() of BullMQ, or in the dashboard that paused it'

function judgeSubmissions({ submitted, submitIsPaused }: Health): Finding | undefined {
  if (!submitIsPaused) return undefined
  const todo = resume
  const what = 'the queue submit is paused in BullMQ'
  if (submitted === 0) return { level: 'warning', what: `${what}: new jobs will wait`, todo }
  return { level: 'problem', what: `${what}, and ${countWaiting(submitted, 'submitted job')}`, todo }
}

function judgeMisplaced({ misplaced, submitPrefix }: Health): Finding[] {
  return misplaced.map(({ prefix, jobs }) => {
    const what = `${countWaiting(jobs, 'submitted job')} in the queue submit with the prefix ${prefix}, which no node reads`
    return {
      level: 'problem',
      what,
      todo: `add them again with the prefix ${submitPrefix}, and remove them from the other queue`,
    }
  })
}

function judgeWakeups({ pausedWakeups }: Health): Finding[] {
  return [...Map.groupBy(pausedWakeups, ({ pool }) => pool)].map(([pool, queues]) => {
    const where = queues.map(({ prefix }) => prefix).join(', ')
    const what = `the queue wakeup-${pool} (prefix ${where}) is paused in BullMQ: work may begin a second late`
    return { level: 'warning', what, todo: resume }
  })
}

function judgeLeases({ redis, expiredLeases, nodes }: Health): Finding[] {
  if (expiredLeases === 0 || redis.refusal !== null) return []
  const what = `${count(expiredLeases, 'lease')} expired during a turn: the nodes that held them died or are frozen`
  if (nodes.length === 0)
    return [{ level: 'problem', what, todo: 'start a node: it continues the work of their workers' }]
  return [
    {
      level: 'warning',
      what,
      todo: 'nothing: a live node takes them over within seconds; if they stay, read its log',
    },
  ]
}

function judgeDeadLetters({ deadLetters, settled }: Health): Finding {
  if (deadLetters === 0) return { level: 'ok', what: 'there are no dead letters' }
  if (settled >= deadLetters) return { level: 'ok', what: 'all dead letters were put back or dismissed' }
  return {
    level: 'warning',
    what: `${count(deadLetters - settled, 'message')} put aside as dead letters, because each took its node down`,
    todo: 'list them with troupe mailbox dead, then run troupe mailbox redrive or dismiss',
  }
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const amount = bytes / 1_024 ** power
  return `${power === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`
}
