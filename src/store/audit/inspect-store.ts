/**
 * Duty: the reads of one partition that clients show: sessions, workers, histories, mailboxes, nodes, lengths of queues.
 * INSPECT-1 It never writes, and asks no worker.
 * INSPECT-2 A report needs several reads. Each row of it is true at the moment when it was read.
 */

import { rootIdOf } from '../../core/ids.ts'
import { readEntry } from '../history/read-entries.ts'
import type { PartitionKeys } from '../keys.ts'
import { rootKey, workerKeys } from '../keys.ts'
import { type AskCount, type OldestAsk, oldestAsks, openAsksOf } from '../person/open-asks.ts'
import { pauseOfAll } from '../person/pauses.ts'
import { ReadStore } from '../read-store.ts'
import type { PauseNote } from '../record/pause-note.ts'
import type { KindRow, NodeRow } from '../record/register-line.ts'
import { type ReadSession, readSessionValues, sessionFieldNames } from '../record/session-record.ts'
import type { Redis } from '../redis/redis.ts'
import { readServerFacts, type ServerFacts } from '../redis/server-facts.ts'
import { orElse, repliesOf, scored } from '../script/replies.ts'
import { busyGates, type GatePlace } from '../worker/gate-facts.ts'
import { type LaneRow, laneRowsOf } from '../worker/lane-rows.ts'
import { type ExpiredWorker, expiredWorkers, type HeldLease, leasesOfNode } from '../worker/leases.ts'
import { type NodesBySight, type WorkerRow, WorkerRows } from '../worker/worker-rows.ts'
import { type LastAudit, lastAudit } from './last-audit.ts'
import { type UsageLine, usageLines } from './usage-lines.ts'

/** The place of a session among all, by age. */
export interface SessionPlace {
  readonly id: string
  readonly createdAt: number
}

/** The record of a session, and the stored line of the result of one run if that was asked for. */
export interface SessionRow extends ReadSession {
  readonly resultLine: string | null
}

/** A node that was not seen for this long does not count as live. */
const liveMs = 15_000

const lettersAtOnce = 50

/** In the index of ends, a session that goes on stands this much before the time of its creation (store/lua/shared/session/sessions.lua). */
const beforeEnds = 4e15

export class InspectStore {
  readonly partition: number
  readonly #redis: Redis
  readonly #keys: PartitionKeys
  readonly #read: ReadStore
  readonly #rows: WorkerRows

  /** `first`: the first partition, where this is another one. */
  constructor(redis: Redis, keys: PartitionKeys, partition: number, first: GatePlace = { redis, keys }) {
    this.#redis = redis
    this.#keys = keys
    this.#read = new ReadStore(redis, keys)
    this.#rows = new WorkerRows(redis, keys, first)
    this.partition = partition
  }

  /** When a sweep last noticed that Redis's clock had been set back, by that clock, and by how much; null if that never was. */
  async setBack(): Promise<{ readonly at: number; readonly ms: number } | null> {
    const text = await orElse(this.#redis.hget(this.#keys.meta, 'setBack'), null)
    const [, at, ms] = /^(\d+) (\d+)$/.exec(text ?? '') ?? []
    return at === undefined ? null : { at: Number(at), ms: Number(ms) }
  }

  async now(): Promise<number> {
    const [seconds, micros] = await this.#redis.time()
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
  }

  /** The key of a worker's record, to be named in errors. */
  recordKey(workerId: string): string {
    return workerKeys(this.#keys.tag, workerId).record
  }

  /** The record of a session, and the result of one run if asked. A long conversation has thousands of results, so they are never read at once. */
  async session(id: string, run?: number): Promise<SessionRow | null> {
    const [values, lines] = await Promise.all([
      this.#redis.hmget(rootKey(this.#keys.tag, id), ...sessionFieldNames),
      run === undefined ? [] : this.#read.resultLines(id, [run]),
    ])
    const read = readSessionValues(values)
    return read && { ...read, resultLine: lines[0] ?? null }
  }

  sessionCount(): Promise<number> {
    return this.#redis.zcard(this.#keys.sessions)
  }

  createdAt(id: string): Promise<number | null> {
    return this.#read.createdAt(id)
  }

  /**
   * The newest sessions first; of sessions created in the same millisecond, the highest id first. With `from`, only sessions behind that place. The
   * session of that place may be gone, or be of another partition. `unended`: only those that go on; the others are not looked at.
   */
  async sessionIds(limit: number, from?: SessionPlace, which: 'all' | 'unended' = 'all'): Promise<SessionPlace[]> {
    const { key, shift, first } = this.#index(which)
    if (from === undefined) {
      const range = [first, '-inf', 'WITHSCORES', 'LIMIT', 0, limit] as const
      return places(await this.#redis.zrevrangebyscore(key, ...range), shift)
    }
    const { createdAt, id } = from
    const score = createdAt - shift
    const beside = await this.#redis.zcount(key, score, score)
    const range = [score, '-inf', 'WITHSCORES', 'LIMIT', 0, limit + beside] as const
    return places(await this.#redis.zrevrangebyscore(key, ...range), shift)
      .filter((place) => place.createdAt < createdAt || place.id < id)
      .slice(0, limit)
  }

  /** The index, whose scores are times of creation less `shift`; `first` is above all its scores. */
  #index(which: 'all' | 'unended') {
    if (which === 'all') return { key: this.#keys.sessions, shift: 0, first: '+inf' }
    return { key: this.#keys.ends, shift: beforeEnds, first: '(0' }
  }

  /** The records of these sessions, in their order; null for one that is gone. Reads nothing that may be long. */
  async sessions(ids: readonly string[]): Promise<(ReadSession | 'unreadable' | null)[]> {
    const pipeline = this.#redis.pipeline()
    for (const id of ids) pipeline.hmget(rootKey(this.#keys.tag, id), ...sessionFieldNames)
    const replies = (await repliesOf(pipeline)) as ((string | null)[] | Error)[]
    return replies.map((values) => (values instanceof Error ? 'unreadable' : readSessionValues(values)))
  }

  /** How many of the newest asks of each session are open. */
  openAsks(sessionIds: readonly string[]): Promise<AskCount[]> {
    return openAsksOf(this.#redis, this.#keys, sessionIds)
  }

  /** The workers of a session, the root first; at most `limit`. */
  async workerIds(sessionId: string, limit = Number.POSITIVE_INFINITY): Promise<string[]> {
    return [rootIdOf(sessionId), ...(await this.#read.childIds(sessionId, 0, limit - 1))]
  }

  /** Rows of the workers that exist, in the order of `ids`. Callers pass no more ids than one answer may hold. */
  workers(ids: readonly string[]): Promise<WorkerRow[]> {
    return this.#rows.of(ids, () => this.nodesBySight())
  }

  /** The oldest open asks: their sorts and since when they wait. */
  oldestAsks(most: number): Promise<OldestAsk[]> {
    return oldestAsks(this.#redis, this.#keys, most)
  }

  /** What model calls used and cost in so many hours or days, the present one among them. `ms`: how long each of them is. */
  async usage(ms: number, count: number): Promise<UsageLine[]> {
    const now = await this.now()
    return usageLines(this.#redis, this.#keys, (Math.floor(now / ms) - count + 1) * ms, now)
  }

  /** What the last audit found that somebody recorded; null if none was. */
  lastAudit(): Promise<LastAudit | null> {
    return lastAudit(this.#redis, this.#keys)
  }

  /** The pause of all sessions; null if there is none. */
  pauseNote(): Promise<PauseNote | null> {
    return pauseOfAll(this.#redis, this.#keys)
  }

  /** Gates of kinds at which runs wait. */
  busyGates() {
    return busyGates(this.#redis, this.#keys)
  }

  async history(workerId: string, after: number, limit: number): Promise<{ position: number; json: string }[]> {
    const entries = await this.#read.entries(workerId, after + 1, limit)
    return entries.map((json, index) => ({ position: after + 1 + index, json }))
  }

  /** The newest dead letter of this worker among those that hold a message; null if there is none. */
  async newestLetterOf(workerId: string): Promise<string | null> {
    for (let before: string | undefined; ; ) {
      const page = await this.#read.newestLetters(lettersAtOnce, before)
      const found = page.find(({ fields }) => fields.worker === workerId && fields.mail !== undefined)
      if (found) return found.id
      if (page.length < lettersAtOnce) return null
      before = page.at(-1)?.id
    }
  }

  async entryAt(workerId: string, position: number): Promise<string | null> {
    return readEntry(this.#redis, workerKeys(this.#keys.tag, workerId).log, position)
  }

  /** The mails of each lane, in the order in which the worker receives them; at most `limit` of each. */
  mailbox(workerId: string, limit: number): Promise<LaneRow[]> {
    return laneRowsOf(this.#redis, workerKeys(this.#keys.tag, workerId), limit)
  }

  async liveNodes(): Promise<readonly NodeRow[]> {
    return (await this.nodesBySight()).live
  }

  /** A stalled node was not seen for the time of a lease: its process stands still, or died without a word. */
  async nodesBySight(): Promise<NodesBySight> {
    const [now, nodes] = await Promise.all([this.now(), this.nodes()])
    const { live = [], stalled = [] } = Object.groupBy(nodes, ({ lastSeen }) =>
      now - lastSeen < liveMs ? 'live' : 'stalled',
    )
    return { now, live, stalled }
  }

  /** Some of the workers whose leases have ended during a turn. */
  async expiredWorkers(): Promise<ExpiredWorker[]> {
    return expiredWorkers(this.#redis, this.#keys, await this.now())
  }

  /** The leases that one node holds now. */
  leasesOf(nodeId: string): Promise<HeldLease[]> {
    return leasesOfNode(this.#redis, this.#keys, nodeId)
  }

  nodes(): Promise<NodeRow[]> {
    return this.#read.nodes()
  }

  kinds(): Promise<KindRow[]> {
    return this.#read.kinds()
  }

  /** Pools that ever had a node or a queued worker. */
  poolsEverKnown(): Promise<string[]> {
    return orElse(this.#read.poolsEverHosted(), [])
  }

  /** Lengths of queues and sets, for doctor. */
  async queueFacts(pools: readonly string[]): Promise<{
    pools: {
      pool: string
      queued: number
      oldest: { id: string; since: number } | null
      wakeups: number
      busy: number
    }[]
    expiredLeases: number
    running: number
    timers: number
    cancelling: number
    dead: number
    /** Letters that were put back or dismissed. */
    settled: number
  }> {
    const now = await this.now()
    const perPool = await Promise.all(
      pools.map(async (pool) => {
        const [queued, oldest, wakeups, busy] = await Promise.all([
          this.#lengthOf(pool),
          this.#queued(pool, 20),
          this.#redis.zcount(this.#keys.wakeups(pool), now, '+inf'),
          this.#redis.zcard(this.#keys.busy(pool)),
        ])
        const [first = null] = oldest.toSorted((a, b) => a.since - b.since)
        return { pool, queued, oldest: first && { id: first.id, since: first.since }, wakeups, busy }
      }),
    )
    const [expiredLeases, running, timers, cancelling, dead, settled] = await Promise.all([
      this.#redis.zcount(this.#keys.leases, '-inf', now),
      this.#redis.zcard(this.#keys.leases),
      this.#redis.zcard(this.#keys.timers),
      this.#redis.scard(this.#keys.cancelling),
      this.#redis.xlen(this.#keys.dead),
      this.#settledLetters(),
      // The answers to these commands are not used. If another program wrote over one of these keys, the read fails and names it.
      this.#redis.zcard(this.#keys.sessions),
      this.#redis.zcard(this.#keys.ends),
      this.#redis.xlen(this.#keys.events),
      this.#redis.zcard(this.#keys.redriven),
      this.#redis.hlen(this.#keys.retired),
      this.#redis.hlen(this.#keys.meta),
    ])
    return { pools: perPool, expiredLeases, running, timers, cancelling, dead, settled }
  }

  /** How many dead letters nobody has put back or dismissed. */
  async openLetters(): Promise<number> {
    const [dead, settled] = await Promise.all([this.#redis.xlen(this.#keys.dead), this.#settledLetters()])
    return Math.max(0, dead - settled)
  }

  /** Dispositions may outlive their letters, which the stream trims. They go when the next letter is dealt with, so they are not counted. */
  async #settledLetters(): Promise<number> {
    const [oldest] = await this.#read.lettersBehind(undefined, '+', 1)
    if (oldest === undefined) return 0
    return this.#redis.zcount(this.#keys.redriven, Number(oldest.id.split('-')[0]), '+inf')
  }

  queuedKinds(pool: string, limit: number): Promise<{ id: string; kind: string; since: number }[]> {
    return this.#queued(pool, limit)
  }

  /** The run queue of a pool, and its queues of one kind each. */
  async #queuesOf(pool: string): Promise<string[]> {
    const kinds = await orElse(this.#redis.smembers(this.#keys.kindQueues(pool)), [])
    return [this.#keys.run(pool), ...kinds.map((kind) => this.#keys.kindQueue(pool, kind))]
  }

  async #lengthOf(pool: string): Promise<number> {
    const lengths = await Promise.all((await this.#queuesOf(pool)).map((key) => this.#redis.zcard(key)))
    return lengths.reduce((sum, length) => sum + length, 0)
  }

  /** The first workers of a run queue. If one record cannot be read, the others are still shown: the audit names it. */
  async #queued(pool: string, most: number): Promise<{ id: string; kind: string; since: number }[]> {
    const queues = await this.#queuesOf(pool)
    const ids = (await Promise.all(queues.map((key) => this.#redis.zrange(key, 0, String(most - 1))))).flat()
    const found = await Promise.all(
      ids.map(async (id) => {
        const { record } = workerKeys(this.#keys.tag, id)
        const [kind, since] = await orElse(this.#redis.hmget(record, 'kind', 'queuedAt'), [])
        return kind ? [{ id, kind, since: Number(since ?? 0) }] : []
      }),
    )
    return found.flat()
  }

  /** What the server of this partition says of itself. */
  serverFacts(): Promise<ServerFacts> {
    return readServerFacts(this.#redis, this.#keys.rights)
  }
}

/** Reads a part of an index of sessions. */
function places(flat: readonly string[], shift: number): SessionPlace[] {
  return scored(flat).map(([id, score]) => ({ id, createdAt: score + shift }))
}
