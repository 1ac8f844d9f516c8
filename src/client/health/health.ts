/** Duty: read the facts that health findings rest on: the settings of Redis, nodes, queues, and how long workers have waited. */
import { unhostedPool } from '../../core/ids.ts'
import type { BusyGate } from '../../core/worker/gates.ts'
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import type { PauseNote } from '../../store/record/pause-note.ts'
import type { RedisAccess } from '../../store/redis/access.ts'
import type { ClusterFacts, ClusterServer } from '../../store/redis/cluster-look.ts'
import type { ServerFacts } from '../../store/redis/server-facts.ts'
import type { ExpiredWorker } from '../../store/worker/leases.ts'
import type { SubmissionQueue } from '../../submit/submission-queue.ts'
import type { WakeupQueue } from '../../wake/queue-tidier.ts'
import type { WrongEntry } from '../session/session-index.ts'
import type { KindSummary, NodeSummary } from '../summaries.ts'
import type { Webhook } from '../webhook/webhook.ts'
import type { HeldUp, HeldUpWorker } from './held-up.ts'
import type { NewestWorkers, Stranded } from './stranded.ts'

export type { ClusterFacts, ClusterServer, ExpiredWorker, RedisAccess, ServerFacts, WakeupQueue }

export interface Health {
  /** The server that has the first partition. */
  readonly redis: ServerFacts & {
    /** When a sweep last noticed that the clock of Redis had been set back; null if none did. */
    readonly clockSetBack: { readonly agoMs: number; readonly ms: number } | null
  }
  /** Every server of a Redis Cluster; null where there is none. */
  readonly cluster: ClusterFacts | null
  /** Partitions of a cluster whose servers do not answer. All other facts lack what is in them. */
  readonly away: readonly number[]
  readonly nodes: readonly NodeSummary[]
  /** Nodes that were not seen for the time of a lease, until they are forgotten. */
  readonly stalledNodes: readonly NodeSummary[]
  /** Nodes that do not work in all partitions yet, after their number was raised. */
  readonly nodesBehind: readonly NodeSummary[]
  readonly kinds: readonly KindSummary[]
  readonly pools: readonly { pool: string; queued: number; oldestMs: number | null; wakeups: number; busy: number }[]
  /** Queued workers whose kind no live node hosts. */
  readonly unhosted: readonly { id: string; kind: string; waitingMs: number }[]
  /**
   * Workers that stand in the unhosted pool although a live node hosts their kind. A sweep moves them within about a second, unless another
   * program wrote over a part of them.
   */
  readonly aside: readonly { readonly id: string; readonly kind: string; readonly waitingMs: number }[]
  /** Workers that nothing wakes any more, among the newest ones. The audit finds all of them. */
  readonly stranded: readonly Stranded[]
  /** What another program wrote into the index of sessions, or into the lists of workers of the newest ones. */
  readonly wrongEntries: readonly WrongEntry[]
  /** Jobs that other programs added to the queue `submit` and no node has taken yet. */
  readonly submitted: number
  /** Somebody paused that queue with a tool of BullMQ: nodes take nothing from it. */
  readonly submitIsPaused: boolean
  /** The prefix of that queue in BullMQ. */
  readonly submitPrefix: string
  /** Jobs in queues `submit` of other partitions, where no node takes them. They belong under `submitPrefix`. */
  readonly misplaced: readonly { readonly prefix: string; readonly jobs: number }[]
  /** Queues `wakeup-<pool>` that somebody paused, each with its prefix in BullMQ. Work of these pools may begin late. */
  readonly pausedWakeups: readonly WakeupQueue[]
  /** Requests to webhooks that wait in the queue `deliveries`, because somebody paused it with a tool of BullMQ; null if it is not paused. */
  readonly pausedDeliveries: number | null
  /** Who paused all sessions, why and when; null if they are not paused. */
  readonly paused: PauseNote | null
  /** Gates of kinds at which runs wait for others. */
  readonly gates: readonly BusyGate[]
  /** Those among the newest sessions that are paused by themselves. */
  readonly pausedSessions: readonly string[]
  /** Those among the newest workers that wait for somebody outside, the longest first. */
  readonly heldUp: readonly HeldUpWorker[]
  readonly running: number
  readonly expiredLeases: number
  /** Some of the workers of these leases. */
  readonly expiredWorkers: readonly ExpiredWorker[]
  readonly timers: number
  readonly cancelling: number
  /** Endpoints that do not accept what they are told. */
  readonly failingWebhooks: readonly Webhook[]
  /** Dead letters that are kept. */
  readonly deadLetters: number
  /** Dead letters among them that were put back or dismissed. */
  readonly settled: number
}

/** What was read of the queues of BullMQ. */
export interface Queues {
  /** The queues of submissions, one for each partition, in their order. */
  readonly submissions: readonly SubmissionQueue[]
  readonly pausedWakeups: readonly WakeupQueue[]
  readonly pausedDeliveries: number | null
}

/** The newest time at which a clock was set back, over all partitions. */
async function setBackOf(stores: readonly InspectStore[], now: number): Promise<Health['redis']['clockSetBack']> {
  const found = (await Promise.all(stores.map((store) => store.setBack()))).filter((one) => one !== null)
  const [newest] = found.sort((a, b) => b.at - a.at)
  return newest === undefined ? null : { agoMs: Math.max(0, now - newest.at), ms: newest.ms }
}

/** A node registers in each partition in which it works, in their order. */
async function behindAmong(nodes: readonly NodeSummary[], stores: readonly InspectStore[]): Promise<NodeSummary[]> {
  if (stores.length === 1) return []
  const { live } = await (stores.at(-1) as InspectStore).nodesBySight()
  return nodes.filter(({ id }) => !live.some((node) => node.id === id))
}

export async function readHealth(
  stores: readonly InspectStore[],
  nodes: readonly NodeSummary[],
  kinds: readonly KindSummary[],
  readQueues: (now: number, pools: readonly string[]) => Promise<Queues>,
): Promise<Omit<Health, keyof NewestWorkers | keyof HeldUp | 'cluster' | 'away' | 'stalledNodes' | 'failingWebhooks'>> {
  const first = stores[0] as InspectStore
  const redisNow = await first.now()
  const registered = (await Promise.all(stores.map((store) => store.poolsEverKnown()))).flat()
  const hostedPools = [...kinds.map((kind) => kind.pool), ...nodes.flatMap((node) => node.pools)]
  const poolNames = [...new Set([...hostedPools, ...registered, unhostedPool])]
  const facts = await Promise.all(stores.map((store) => store.queueFacts(poolNames)))
  const hosted = new Set(kinds.filter((kind) => kind.hosted).map((kind) => kind.kind))
  const queuedIn = async (pool: string) =>
    (await Promise.all(stores.map((store) => store.queuedKinds(pool, 100)))).flat().map(({ id, kind, since }) => ({
      pool,
      worker: { id, kind, waitingMs: Math.max(0, redisNow - since) },
    }))
  const queued = (await Promise.all(poolNames.map(queuedIn))).flat()
  const { submissions, pausedWakeups, pausedDeliveries } = await readQueues(redisNow, poolNames)
  const [submission, ...others] = submissions as readonly [SubmissionQueue, ...SubmissionQueue[]]
  const sum = (of: (fact: (typeof facts)[number]) => number) => facts.reduce((total, fact) => total + of(fact), 0)
  return {
    redis: { ...(await first.serverFacts()), clockSetBack: await setBackOf(stores, redisNow) },
    nodes,
    nodesBehind: await behindAmong(nodes, stores),
    kinds,
    pools: poolNames.map((pool, index) => {
      const of = facts.map((fact) => fact.pools[index])
      const oldest = of.flatMap((fact) => (fact?.oldest ? [fact.oldest.since] : []))
      return {
        pool,
        queued: of.reduce((total, fact) => total + (fact?.queued ?? 0), 0),
        oldestMs: oldest.length === 0 ? null : Math.max(0, redisNow - Math.min(...oldest)),
        wakeups: of.reduce((total, fact) => total + (fact?.wakeups ?? 0), 0),
        busy: of.reduce((total, fact) => total + (fact?.busy ?? 0), 0),
      }
    }),
    unhosted: queued.filter(({ worker }) => !hosted.has(worker.kind)).map(({ worker }) => worker),
    aside: queued
      .filter(({ pool, worker }) => pool === unhostedPool && hosted.has(worker.kind))
      .map(({ worker }) => worker),
    submitted: submission.jobs,
    submitIsPaused: submission.isPaused,
    submitPrefix: submission.prefix,
    misplaced: others.filter(({ jobs }) => jobs > 0).map(({ prefix, jobs }) => ({ prefix, jobs })),
    pausedWakeups,
    pausedDeliveries,
    paused: (await Promise.all(stores.map((store) => store.pauseNote()))).find((note) => note !== null) ?? null,
    gates: (await Promise.all(stores.map((store) => store.busyGates()))).flat(),
    running: sum((fact) => fact.running),
    expiredLeases: sum((fact) => fact.expiredLeases),
    expiredWorkers: (await Promise.all(stores.map((store) => store.expiredWorkers()))).flat(),
    timers: sum((fact) => fact.timers),
    cancelling: sum((fact) => fact.cancelling),
    deadLetters: sum((fact) => fact.dead),
    settled: sum((fact) => fact.settled),
  }
}
