/** Duty: the words of `doctor` for each finding: a fact, and if something is wrong, what to do. */
import type { Finding, FindingCode, FindingFacts } from '../client/health/finding.ts'
import type { Health } from '../client/health/health.ts'
import type { StrandedReason } from '../client/health/stranded.ts'
import { preview } from '../core/check/preview.ts'
import { count, countWaiting } from './amounts.ts'
import { formatDuration, formatMoment } from './duration.ts'
import { holdupTexts } from './holdup-text.ts'

export interface FindingText {
  readonly what: string
  readonly todo?: string
}

/** `host (1234), not seen for 20s` */
function stalledText({ host, pid, lastSeenMs }: FindingFacts['nodes_stalled']['nodes'][number]): string {
  return `${host ?? 'unknown host'}${pid === null ? '' : ` (${pid})`}, not seen for ${formatDuration(lastSeenMs)}`
}

function isOrAre(number: number): string {
  return number === 1 ? 'is' : 'are'
}

function namesOf(nodes: FindingFacts['nodes']['nodes']): string {
  return nodes.map(({ host, pid }) => `${host ?? 'unknown host'}${pid === null ? '' : ` (${pid})`}`).join(', ')
}

function expiredText(workers: FindingFacts['leases_expired']['workers']): string {
  if (workers.length === 0) return ''
  const named = workers
    .slice(0, 5)
    .map(({ id, kind, lastWords }) => `${kind} ${id}${lastWords ? ` (${lastWords})` : ''}`)
  return `: ${named.join(', ')}${workers.length > 5 ? ', …' : ''}`
}

type Texts = {
  readonly [Code in FindingCode]: (facts: FindingFacts[Code], finding: Finding) => FindingText
}

export function findingText(finding: Finding): FindingText {
  const textOf = texts[finding.code] as (facts: Finding['facts'], finding: Finding) => FindingText
  const text = textOf(finding.facts, finding)
  const { server, servers } = finding
  if (server !== undefined) return { ...text, what: `${server}: ${text.what}` }
  return servers === undefined ? text : { ...text, what: `each of ${servers} servers: ${text.what}` }
}

const resume = 'resume it with queue.resume() of BullMQ, or in the dashboard that paused it'

const strandedTexts: Readonly<Record<StrandedReason, string>> = {
  not_in_run_queue: 'is queued and stands in no run queue',
  unknown_run_queue: 'is in the run queue of a pool that is not registered, at which no node looks',
  no_lease: 'is running and holds no lease',
  no_retry_timer: 'waits for a retry that is never due',
  no_timer: 'waits for a timer that is never due',
}

const fileTexts: Readonly<Record<FindingFacts['write_to_disk_failed']['file'], string>> = {
  append_only_file: 'the append-only file',
  append_only_rewrite: 'a rewrite of the append-only file',
  snapshot: 'the last snapshot',
}

const redisTexts = {
  redis_version: ({ server, version, hasKnownFaults }) => {
    const what = `${server} ${version} answers`
    if (!hasKnownFaults) return { what }
    return {
      what: `${what}; this version has known faults (CVE-2025-49844 in its Lua engine, or CVE-2026-23479)`,
      todo: 'update it, unless your distribution has patched it',
    }
  },
  redis_refuses_writes: ({ why, advice }) => ({ what: `Redis refuses writes (${why})`, todo: advice }),
  redis_is_replica: () => ({
    what: 'this Redis is a replica, and refuses the writes of troupe',
    todo: 'connect to its primary',
  }),
  replicas_missing: () => ({
    what: 'Redis refuses writes while too few replicas are connected (min-replicas-to-write), and no replica is connected',
    todo: 'start the replicas, or lower min-replicas-to-write',
  }),
  redis_without_password: () => ({
    what: 'Redis takes everybody without a password, and whoever reaches it can do everything',
    todo: 'set requirepass, or users (docs/operations.md), and put the password into the URL',
  }),
  user_may_load_functions: ({ user }) => ({
    what: `the user ${user} may load functions, and so replace code that other users of this Redis run`,
    todo: 'take -function and -fcall from the line in docs/operations.md',
  }),
  eviction: ({ policy, isSafe }, { command }) => {
    if (isSafe) return { what: `Redis never evicts keys (maxmemory-policy ${policy})` }
    return {
      what: `Redis may evict keys, and so lose work (maxmemory-policy ${policy})`,
      todo: `${command}, and set the same in its configuration file`,
    }
  },
  append_only_file: ({ isKept }, { command }) => {
    if (isKept)
      return {
        what: 'Redis writes an append-only file: a power cut loses nothing with appendfsync always, and up to about 2 s of work with everysec',
      }
    return {
      what: 'Redis keeps no append-only file: if it ends, all work since its last snapshot is lost',
      todo: `${command}, and set the same in its configuration file`,
    }
  },
  write_to_disk_failed: ({ file }) => ({
    what: `Redis could not write ${fileTexts[file]}, and may refuse commands`,
    todo: 'read its log, and check the free space on its disk',
  }),
  memory: ({ usedBytes, maxBytes, share }, { level, command }) => {
    if (share === null) return { what: `Redis uses ${formatBytes(usedBytes)} of memory, and has no memory limit` }
    const percent = Math.round(share * 100)
    const what = `Redis uses ${formatBytes(usedBytes)} of ${formatBytes(maxBytes)} of memory (${percent} %)`
    if (level === 'ok') return { what }
    return {
      what: `${what}; once memory is full it accepts no more work`,
      todo: `raise maxmemory, or remove old sessions with \`${command}\``,
    }
  },
  clock: ({ skewMs, agrees }) => {
    if (agrees) return { what: 'the clock of Redis agrees with the clock of this machine' }
    const where = skewMs > 0 ? 'ahead of' : 'behind'
    return {
      what: `the clock of Redis is ${formatDuration(Math.abs(skewMs))} ${where} the clock of this machine; leases follow it, but displayed times are off`,
      todo: 'synchronise both clocks with NTP',
    }
  },
  server_unread: ({ why }) => ({
    what: `Redis could not be looked at: ${why}`,
    todo: 'see whether it runs, and whether its users and passwords are those of the other servers (a cluster does not pass them on)',
  }),
  partitions_away: ({ partitions }) => ({
    what: `${partitions.length === 1 ? 'partition' : 'partitions'} ${partitions.join(', ')} ${isOrAre(partitions.length)} away: what is found here lacks what is in ${partitions.length === 1 ? 'it' : 'them'}`,
    todo: 'bring back the server that could not be looked at; troupe partition list names the server of each partition',
  }),
  replica_behind: () => ({
    what: 'Redis is a replica that is not connected to its primary, and cannot take over with what was written last',
    todo: 'read its log',
  }),
  cluster_state: ({ primaries, replicas, slotsMissing, doubting }) => {
    const cluster = `the cluster of ${count(primaries, 'primary server')} and ${count(replicas, 'replica')}`
    const todo = 'see what is wrong with `redis-cli --cluster check`: partitions there stand still'
    if (slotsMissing > 0) return { what: `${cluster} has no server for ${count(slotsMissing, 'slot')}`, todo }
    if (doubting.length > 0) return { what: `${cluster} is broken, says ${doubting.join(', ')}`, todo }
    return { what: `each slot belongs to a server in ${cluster}` }
  },
  cluster_partitions: ({ partitions, primaries, used }) => ({
    what: `${count(partitions, 'partition')} at ${used} of ${count(primaries, 'primary server')}`,
  }),
  cluster_without_replica: ({ servers }) => ({
    what: `no replica follows ${servers.join(', ')}: if such a server ends, its partitions stand still, and what its disk did not keep is lost`,
    todo: 'add a replica for each primary with `redis-cli --cluster add-node --cluster-slave`',
  }),
  cluster_needs_all_slots: ({ servers }) => ({
    what: `if one server of the cluster ends, the others will refuse, too (cluster-require-full-coverage yes at ${servers.join(', ')})`,
    todo: '`redis-cli config set cluster-require-full-coverage no` at each of them, and set the same in its configuration file',
  }),
  clock_set_back: ({ ms, agoMs }) => ({
    what: `the clock of Redis was set back by ${formatDuration(ms)}, ${formatDuration(agoMs)} ago: timers and retries that were open moved by as much, and sessions may be kept for longer`,
    todo: 'let NTP set the clocks of every Redis that may become the primary',
  }),
} satisfies Partial<Texts>

const workTexts = {
  nodes_behind: ({ nodes }) => ({
    what: `nodes do not work in all partitions yet, though their number was raised: ${namesOf(nodes)}`,
    todo: 'look again in ten seconds; if they still do not, their log says why (a server that they cannot reach, or a right that they lack), or start them again',
  }),
  nodes: ({ nodes, draining, slots, turns }) => {
    const live = `${count(nodes.length, 'node')} with ${count(slots, 'slot')} live: ${namesOf(nodes)}; ${count(turns, 'turn')} running`
    if (draining.length === 0) return { what: live }
    const all = count(nodes.length + draining.length, 'node')
    return { what: `${live}; ${draining.length} of ${all} ${isOrAre(draining.length)} draining: ${namesOf(draining)}` }
  },
  nodes_cannot_report: () => ({
    what: 'no node can report that it is live, because Redis refuses writes',
    todo: 'run doctor again once Redis accepts writes',
  }),
  no_node: ({ workers, jobs, wasOneEver, draining }, { command }) => {
    const start = `start one: ${command}`
    const namespace =
      'no node was ever live in this namespace: if you expected one, check --namespace or TROUPE_NAMESPACE'
    const todo = wasOneEver ? start : `${start}; ${namespace}`
    const who = [workers && count(workers, 'worker'), jobs && count(jobs, 'submitted job')].filter(Boolean)
    const what =
      draining.length === 0
        ? 'no node is live'
        : `no node takes up work: ${count(draining.length, 'node')} ${isOrAre(draining.length)} draining (${namesOf(draining)})`
    if (who.length === 0) return { what, todo }
    return { what: `${what}, and ${who.join(' and ')} ${workers + jobs === 1 ? 'waits' : 'wait'}`, todo }
  },
  kind_unhosted: ({ kind, workers, isAtLeast, oldestMs }, { command }) => ({
    what: `no live node hosts the kind ${kind}: ${isAtLeast ? 'at least ' : ''}${countWaiting(workers, 'worker')}, the oldest for ${formatDuration(oldestMs)}`,
    todo: `start a node whose workers folder has ${kind}.ts, or cancel their sessions; ${command} shows the session of the oldest`,
  }),
  workers_unreadable: ({ workers }, { command, workerIds = [] }) => {
    const [their, them] = workers === 1 ? ['its kind', 'the worker'] : ['their kinds', 'each of them']
    return {
      what: `${countWaiting(workers, 'worker')}, although a node hosts ${their}: part of the stored data of ${them} cannot be read`,
      todo: `run ${command} to see what another program overwrote; the oldest is worker ${workerIds[0]}`,
    }
  },
  workers_stranded: ({ workers, reason }, { command, workerIds = [] }) => {
    const others = workers === 1 ? '' : `; ${workers} of the newest workers are in such a state`
    return {
      what: `worker ${workerIds[0]} ${strandedTexts[reason]}, because another program removed the entry that would wake it${others}`,
      todo: `run ${command} to list all of them; restore the removed entries, or cancel their sessions: they wait for ever`,
    }
  },
  wrong_entries: ({ entries, sessionId, entry }, { command }) => {
    const others = entries === 1 ? '' : `; ${entries} such entries were found`
    const [list, what] =
      sessionId === null ? ['the index of sessions', 'session'] : [`the list of session ${sessionId}`, 'worker']
    return {
      what: `${list} holds ${preview(entry)}, which is no ${what} of it: another program wrote it${others}`,
      todo: `run ${command} to see what else was overwritten, and remove the entry`,
    }
  },
  run_queue: ({ workers, oldestMs, isLong }) => {
    if (workers === 0) return { what: 'no worker waits for a slot' }
    const what = `${countWaiting(workers, 'worker')} for a slot, the oldest for ${formatDuration(oldestMs)}`
    if (!isLong) return { what }
    return {
      what,
      todo: 'check whether turns hang (docs/operations.md, "When work stands still"); if not, start another node or raise --concurrency',
    }
  },
  all_paused: ({ by, why, at }, { command }) => ({
    what: `all sessions are paused${by === null ? '' : ` by ${by}`} since ${formatMoment(at)}${why === null ? '' : ` (${why})`}: no node takes up work`,
    todo: `${command}`,
  }),
  sessions_paused: ({ sessions }, { command }) => ({
    what: `${count(sessions.length, 'session')} of the newest ${sessions.length === 1 ? 'is' : 'are'} paused: ${sessions.slice(0, 3).join(', ')}${sessions.length > 3 ? ', …' : ''}`,
    todo: `go on with \`${command}\``,
  }),
  workers_held_up: ({ workers, some }, { command }) => {
    const holdups = some.map(({ holdup }) => holdup)
    const others = workers - some.length
    const named = [...holdupTexts(holdups, some, Date.now()), ...(others > 0 ? [`and ${others} more`] : [])]
    return { what: `${countWaiting(workers, 'worker')} for somebody: ${named.join('; ')}`, todo: `${command}` }
  },
  runs_limited: ({ runs, gates }) => ({
    what: `${countWaiting(runs, 'run')} for others of their kind: ${gates.map(gateText).join('; ')}`,
  }),
  submissions_paused: ({ jobs, prefix }) => {
    const what = `the queue submit (prefix ${prefix}) is paused in BullMQ`
    if (jobs === 0) return { what: `${what}: new jobs will wait`, todo: resume }
    return { what: `${what}, and ${countWaiting(jobs, 'submitted job')}`, todo: resume }
  },
  deliveries_paused: ({ requests, prefix }) => {
    const what = `the queue deliveries (prefix ${prefix}) is paused in BullMQ`
    if (requests === 0) return { what: `${what}: new requests to webhooks will wait`, todo: resume }
    return { what: `${what}, and ${countWaiting(requests, 'request')} to be sent to webhooks`, todo: resume }
  },
  submissions_misplaced: ({ jobs, prefix, rightPrefix }) => ({
    what: `${countWaiting(jobs, 'submitted job')} in the queue submit with the prefix ${prefix}, which no node reads`,
    todo: `add them again with the prefix ${rightPrefix}, and remove them from the other queue`,
  }),
  wakeups_paused: ({ pool, prefixes }) => ({
    what: `the queue wakeup-${pool} (prefix ${prefixes.join(', ')}) is paused in BullMQ: work may begin a second late`,
    todo: resume,
  }),
  nodes_stalled: ({ nodes }) => ({
    what: `${count(nodes.length, 'node')} stalled: ${nodes.map(stalledText).join(', ')}`,
    todo: 'a process that died needs nothing; in one that still runs, code blocks the event loop or it was stopped: read its stderr, and end it',
  }),
  leases_expired: ({ leases, isNodeLive, workers }) => ({
    what: `${count(leases, 'lease')} expired during a turn: the nodes that held them died or are frozen${expiredText(workers)}`,
    todo: isNodeLive
      ? 'nothing: a live node takes them over within seconds; if they stay, read its log'
      : 'start a node: it continues the work of their workers',
  }),
  webhooks_failing: ({ webhooks, host, reason }, { command }) => ({
    what: `${count(webhooks, 'endpoint')} of webhooks ${webhooks === 1 ? 'does' : 'do'} not accept what ${webhooks === 1 ? 'it is' : 'they are'} told: ${host}${reason === null ? '' : ` (${reason})`}`,
    todo: `see \`${command}\`; what it did not accept is tried again, and \`troupe webhook redeliver\` sends it by hand`,
  }),
  dead_letters: ({ kept, open }, { command }) => {
    if (kept === 0) return { what: 'there are no dead letters' }
    if (open === 0) return { what: 'all dead letters were put back or dismissed' }
    const letters = open === 1 ? 'a dead letter, because it' : 'dead letters, because each'
    return {
      what: `${count(open, 'message')} ${open === 1 ? 'was' : 'were'} put aside as ${letters} took its node down`,
      todo: `list them with ${command}, then run troupe mailbox redrive or dismiss`,
    }
  },
} satisfies Partial<Texts>

const texts: Texts = { ...redisTexts, ...workTexts }

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const amount = bytes / 1_024 ** power
  return `${power === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`
}

function gateText({ sort, kind, key, most, perMs, taken, waiting }: Health['gates'][number]): string {
  const of = key === null ? kind : `${kind} with key ${preview(key)}`
  const limit =
    sort === 'runs' ? `${taken} of ${most} are in progress` : `${most} may begin within ${formatDuration(perMs ?? 0)}`
  return `${waiting} of ${of} (${limit})`
}
