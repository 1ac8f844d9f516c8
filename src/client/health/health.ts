/** Duty: the facts that `troupe doctor` judges: Redis's settings, nodes, queues, what waits and for how long. */
import { unhostedPool } from '../../core/ids.ts'
import type { InspectStore } from '../../store/inspect-store.ts'
import type { RecordFields } from '../../store/script/replies.ts'
import type { SubmissionQueue } from '../../submit/submission-queue.ts'
import type { WakeupQueue } from '../../wake/queue-tidier.ts'
import type { KindSummary, NodeSummary } from '../summaries.ts'
import type { Stranded } from './stranded.ts'

export type { WakeupQueue }

export interface Health {
  readonly redis: {
    readonly version: string
    readonly evictionPolicy: string
    readonly usedBytes: number
    /** 0: no limit. */
    readonly maxBytes: number
    readonly appendOnly: boolean
    /** Redis's clock minus this process's, in ms. */
    readonly clockSkewMs: number
    readonly role: string
    /** Why it takes no write now, and what to do; null when it does. */
    readonly refusal: { readonly why: string; readonly todo: string } | null
    readonly info: RecordFields
  }
  readonly nodes: readonly NodeSummary[]
  readonly kinds: readonly KindSummary[]
  readonly pools: readonly { pool: string; queued: number; oldestMs: number | null; wakeups: number; busy: number }[]
  /** Queued workers of kinds that no live node hosts. */
  readonly unhosted: readonly { id: string; kind: string; waitingMs: number }[]
  /**
   * Queued workers among the unhosted of kinds that a live node hosts: a sweep takes them within about a second, unless somebody wrote over
   * something of them.
   */
  readonly aside: readonly { readonly id: string; readonly kind: string; readonly waitingMs: number }[]
  /** Of the newest workers, those that nothing wakes any more: what would was removed. The audit names all there are. */
  readonly stranded: readonly Stranded[]
  /** Jobs of other programs in the queue `submit` that no node has taken yet. */
  readonly submitted: number
  /** Somebody paused that queue, with a tool of BullMQ: nodes take nothing from it. */
  readonly submitIsPaused: boolean
  /** BullMQ's prefix of that queue. */
  readonly submitPrefix: string
  /** Jobs in queues of this name of other partitions, which no node takes: `submitPrefix` is where they belong. */
  readonly misplaced: readonly { readonly prefix: string; readonly jobs: number }[]
  /** Queues of wake-ups that somebody paused likewise, `wakeup-<pool>`, each with its prefix in BullMQ: their work may begin late. */
  readonly pausedWakeups: readonly WakeupQueue[]
  readonly running: number
  readonly expiredLeases: number
  readonly timers: number
  readonly cancelling: number
  /** All that are kept. */
  readonly deadLetters: number
  /** Of these, those that were put back or dismissed. */
  readonly settled: number
}

/** What is read of BullMQ's queues. */
export interface Queues {
  /** By partition. */
  readonly submissions: readonly SubmissionQueue[]
  readonly pausedWakeups: readonly WakeupQueue[]
}

export async function readHealth(
  stores: readonly InspectStore[],
  nodes: readonly NodeSummary[],
  kinds: readonly KindSummary[],
  readQueues: (now: number, pools: readonly string[]) => Promise<Queues>,
): Promise<Omit<Health, 'stranded'>> {
  const first = stores[0] as InspectStore
  const before = Date.now()
  const redisNow = await first.now()
  const clockSkewMs = Math.round(redisNow - (before + Date.now()) / 2)
  const info = await first.info()
  const poolNames = [
    ...new Set([...kinds.map((kind) => kind.pool), ...nodes.flatMap((node) => node.pools), unhostedPool]),
  ]
  const facts = await Promise.all(stores.map((store) => store.queueFacts(poolNames)))
  const hosted = new Set(kinds.filter((kind) => kind.hosted).map((kind) => kind.kind))
  const queuedIn = async (pool: string) =>
    (await Promise.all(stores.map((store) => store.queuedKinds(pool, 100)))).flat().map(({ id, kind, since }) => ({
      pool,
      worker: { id, kind, waitingMs: Math.max(0, redisNow - since) },
    }))
  const queued = (await Promise.all(poolNames.map(queuedIn))).flat()
  const { submissions, pausedWakeups } = await readQueues(redisNow, poolNames)
  const [submission, ...others] = submissions as readonly [SubmissionQueue, ...SubmissionQueue[]]
  const sum = (of: (fact: (typeof facts)[number]) => number) => facts.reduce((total, fact) => total + of(fact), 0)
  return {
    redis: {
      version: info.redis_version ?? 'unknown',
      evictionPolicy: info.maxmemory_policy ?? 'unknown',
      usedBytes: Number(info.used_memory ?? 0),
      maxBytes: Number(info.maxmemory ?? 0),
      appendOnly: info.aof_enabled === '1',
      clockSkewMs,
      role: info.role ?? 'unknown',
      refusal: await first.refusal(),
      info,
    },
    nodes,
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
    running: sum((fact) => fact.running),
    expiredLeases: sum((fact) => fact.expiredLeases),
    timers: sum((fact) => fact.timers),
    cancelling: sum((fact) => fact.cancelling),
    deadLetters: sum((fact) => fact.dead),
    settled: sum((fact) => fact.settled),
  }
}
