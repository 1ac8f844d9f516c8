/** Duty: judge the health of Redis, nodes and queues. */
import { unhostedPool } from '../../core/ids.ts'
import { takesWork } from '../fleet/node-summaries.ts'
import { judgeCluster } from './cluster-findings.ts'
import { type Finding, finding } from './finding.ts'
import type { Health } from './health.ts'
import { judgeServer, judgeSetBack } from './server-findings.ts'

const waitMsMax = 60_000
/** Within about a second a sweep moves a worker out of the unhosted pool once a node hosts its kind. */
const asideMsMax = 10_000
/** How many of the workers that wait for somebody are named. */
const namedMost = 3

export function judge(health: Health): Finding[] {
  return [
    ...(health.cluster === null ? judgeServer(health.redis) : judgeCluster(health.cluster)),
    ...judgeAway(health),
    ...judgeSetBack(health.redis),
    judgeNodes(health),
    ...judgeBehind(health),
    ...judgeUnhosted(health),
    ...judgeAside(health),
    ...judgeStranded(health),
    ...judgeWrongEntries(health),
    ...judgePauses(health),
    ...judgeHeldUp(health),
    ...judgeGates(health),
    ...judgeQueue(health),
    ...judgeSubmissions(health),
    ...judgeDeliveries(health),
    ...judgeWakeups(health),
    ...judgeStalled(health),
    ...judgeLeases(health),
    ...judgeWebhooks(health),
    judgeDeadLetters(health),
  ]
}

function judgeNodes({ redis, nodes, kinds, pools, running, submitted: jobs }: Health): Finding {
  const taking = nodes.filter(takesWork)
  const draining = namesOf(nodes.filter((node) => !takesWork(node)))
  if (taking.length > 0) {
    const slots = taking.reduce((total, node) => total + node.slots, 0)
    return finding('nodes', 'ok', { nodes: namesOf(taking), draining, slots, turns: running })
  }
  // Nodes report that they are live by writing to Redis.
  if (redis.refusal !== null) return finding('nodes_cannot_report', 'warning', {})
  const workers = pools.reduce((total, pool) => total + pool.queued, 0)
  const level = workers + jobs === 0 ? 'warning' : 'problem'
  // Redis keeps every kind that a node ever hosted.
  const facts = { workers, jobs, wasOneEver: kinds.length > 0, draining }
  return finding('no_node', level, facts, { command: 'troupe node --workers ./workers' })
}

function judgeAway({ away: partitions }: Health): Finding[] {
  return partitions.length === 0 ? [] : [finding('partitions_away', 'problem', { partitions })]
}

/** Sessions of the partitions that they do not work in wait for others. */
function judgeBehind({ nodesBehind }: Health): Finding[] {
  if (nodesBehind.length === 0) return []
  return [finding('nodes_behind', 'warning', { nodes: namesOf(nodesBehind) })]
}

function namesOf(nodes: Health['nodes']) {
  return nodes.map(({ host, pid }) => ({ host, pid }))
}

function judgeUnhosted({ unhosted, aside, pools, nodes }: Health): Finding[] {
  const taking = nodes.filter(takesWork)
  if (taking.length === 0) return []
  // `health` reads only the head of a long run queue. Workers stay in the queue of their pool even if all its nodes are gone.
  const served = new Set(taking.flatMap((node) => node.pools))
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

/** This is always `ok`: the author of the kind wants it so. */
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

/** Such entries harm no worker. But whoever wrote them may have written over more. */
function judgeWrongEntries({ wrongEntries }: Health): Finding[] {
  const [first] = wrongEntries
  if (first === undefined) return []
  return [finding('wrong_entries', 'problem', { entries: wrongEntries.length, ...first }, { command: 'troupe audit' })]
}

function judgeQueue({ pools, nodes }: Health): Finding[] {
  if (!nodes.some(takesWork)) return []
  const waiting = pools.filter(({ queued, pool }) => queued > 0 && pool !== unhostedPool)
  const workers = waiting.reduce((total, pool) => total + pool.queued, 0)
  const oldestMs = Math.max(0, ...waiting.map((pool) => pool.oldestMs ?? 0))
  const isLong = oldestMs >= waitMsMax
  return [finding('run_queue', isLong ? 'warning' : 'ok', { workers, oldestMs, isLong })]
}

function judgeSubmissions({ submitted, submitIsPaused, misplaced, submitPrefix }: Health): Finding[] {
  const level = submitted === 0 ? 'warning' : 'problem'
  const paused = submitIsPaused ? [finding('submissions_paused', level, { jobs: submitted, prefix: submitPrefix })] : []
  const others = misplaced.map(({ prefix, jobs }) =>
    finding('submissions_misplaced', 'problem', { jobs, prefix, rightPrefix: submitPrefix }),
  )
  return [...paused, ...others]
}

/** The queue of deliveries stands beside that of submissions, under the same prefix. */
function judgeDeliveries({ pausedDeliveries: requests, submitPrefix: prefix }: Health): Finding[] {
  if (requests === null) return []
  return [finding('deliveries_paused', requests === 0 ? 'warning' : 'problem', { requests, prefix })]
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

/** The finding names only the host of the address: the rest of it is often a secret. */
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
