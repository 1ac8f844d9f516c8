/**
 * Duty: how much work the pools of one partition have: for lists, and for what starts and stops nodes. It never writes.
 * POOL-STORE-1 A read costs as much with a million workers as with one. It counts, and looks only at the first workers and timers: if there are more,
 *     their pools are taken to be as those of the first ones.
 */
import { defaultPool, isPool, unhostedPool } from '../core/ids.ts'
import { type PartitionKeys, workerKeys } from './keys.ts'
import { poolOfKindLine } from './record/register-line.ts'
import { allMembers } from './redis/large-keys.ts'
import type { Redis } from './redis/redis.ts'
import { orElse, repliesOf } from './script/replies.ts'

export interface PoolWork {
  readonly pool: string
  /** How many workers wait in the run queues of the pool. */
  readonly waiting: number
  /** How long the first of these workers has waited, by the clock of the partition. */
  readonly oldestMs: number | null
  /** How many timers, retries and expiries of its workers are due within the time that was asked for. */
  readonly due: number
  /** How many turns have lasted longer than 100 ms. */
  readonly busy: number
}

const lookMost = 100
/** Between them a process of users does other work: there may be thousands. */
const poolsAtOnce = 200

export class PoolStore {
  readonly #redis: Redis
  readonly #keys: PartitionKeys

  constructor(redis: Redis, keys: PartitionKeys) {
    this.#redis = redis
    this.#keys = keys
  }

  /** The work of each pool that ever had a node or a queued worker, with what is due within `dueMs`. */
  async work(dueMs: number): Promise<PoolWork[]> {
    const now = await this.#now()
    const registered = (await orElse(allMembers(this.#redis, this.#keys.pools), [])).filter(isPool)
    const pools = [...new Set([defaultPool, ...registered])].filter((pool) => pool !== unhostedPool)
    const own: PoolWork[] = []
    for (let from = 0; from < pools.length; from += poolsAtOnce)
      own.push(...(await Promise.all(pools.slice(from, from + poolsAtOnce).map((pool) => this.#workOf(pool, now)))))
    const parts = [...own, ...(await this.#due(now + dueMs)), ...(await this.#unhosted(now))]
    return [...Map.groupBy(parts, ({ pool }) => pool)].map(([pool, some]) => sumOf(pool, some))
  }

  async #now(): Promise<number> {
    const [seconds, micros] = await this.#redis.time()
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
  }

  async #workOf(pool: string, now: number): Promise<PoolWork> {
    const { run, busy, kindQueues, kindQueue } = this.#keys
    const kinds = await orElse(this.#redis.smembers(kindQueues(pool)), [])
    const queues = [run(pool), ...kinds.map((kind) => kindQueue(pool, kind))]
    const counting = this.#redis.pipeline().zcount(busy(pool), now, '+inf')
    for (const queue of queues) counting.zcard(queue).zrange(queue, 0, '0')
    const [turns, ...replies] = await repliesOf(counting)
    const lengths = replies.filter((_, index) => index % 2 === 0)
    const firsts = replies.flatMap((reply) => (Array.isArray(reply) ? reply.map(String) : []))
    const since = await this.#fieldOf(firsts, 'queuedAt')
    return {
      pool,
      waiting: lengths.reduce<number>((sum, length) => sum + numberIn(length), 0),
      oldestMs: longest(since.map((text) => agoMs(text, now))),
      due: 0,
      busy: numberIn(turns),
    }
  }

  /** The timers of the whole partition: one set has those of all pools. */
  async #due(dueBy: number): Promise<PoolWork[]> {
    const { timers } = this.#keys
    const [count, first] = await Promise.all([
      orElse(this.#redis.zcount(timers, '-inf', dueBy), 0),
      orElse(this.#redis.zrangebyscore(timers, '-inf', dueBy, 'LIMIT', 0, lookMost), []),
    ])
    const pools = await this.#fieldOf(
      first.map((timer) => timer.slice(0, 36)),
      'pool',
    )
    const shares = sharesOf(pools.map((pool) => pool ?? defaultPool))
    return [...shares].map(([pool, share]) => ({ ...none, pool, due: Math.ceil(count * share) }))
  }

  /** Workers of kinds that no live node hosts count as work of the pool in which their kind was hosted last. */
  async #unhosted(now: number): Promise<PoolWork[]> {
    const queue = this.#keys.run(unhostedPool)
    const [count, first] = await Promise.all([
      orElse(this.#redis.zcard(queue), 0),
      orElse(this.#redis.zrange(queue, 0, String(lookMost - 1)), []),
    ])
    if (first.length === 0) return []
    const [kinds, since] = await Promise.all([this.#fieldOf(first, 'kind'), this.#fieldOf(first, 'queuedAt')])
    const lines = await orElse(this.#redis.hmget(this.#keys.kinds, ...kinds.map((kind) => kind ?? '')), [])
    const pools = first.map((_, index) => {
      const line = lines[index]
      return line == null ? unhostedPool : poolOfKindLine(line)
    })
    return [...sharesOf(pools)].map(([pool, share]) => ({
      ...none,
      pool,
      waiting: Math.ceil(count * share),
      oldestMs: longest(since.filter((_, index) => pools[index] === pool).map((text) => agoMs(text, now))),
    }))
  }

  /** A field of the records of these workers; null where it is not there. */
  async #fieldOf(ids: readonly string[], field: string): Promise<(string | null)[]> {
    if (ids.length === 0) return []
    const reading = this.#redis.pipeline()
    for (const id of ids) reading.hget(workerKeys(this.#keys.tag, id).record, field)
    return (await repliesOf(reading)).map((reply) => (typeof reply === 'string' ? reply : null))
  }
}

const none = { waiting: 0, oldestMs: null, due: 0, busy: 0 }

/** A key that another program wrote over answers an error: the audit names it. */
function numberIn(reply: unknown): number {
  return typeof reply === 'number' ? reply : 0
}

function agoMs(since: string | null, now: number): number | null {
  return since === null ? null : Math.max(0, now - Number(since))
}

function longest(times: readonly (number | null)[]): number | null {
  const known = times.filter((ms) => ms !== null)
  return known.length === 0 ? null : Math.max(...known)
}

/** How large a part of all names each name is. */
function sharesOf(names: readonly string[]): Map<string, number> {
  const groups = Map.groupBy(names, (name) => name)
  return new Map([...groups].map(([name, some]) => [name, some.length / names.length]))
}

export function sumOf(pool: string, parts: readonly PoolWork[]): PoolWork {
  const sum = (of: (part: PoolWork) => number) => parts.reduce((total, part) => total + of(part), 0)
  return {
    pool,
    waiting: sum(({ waiting }) => waiting),
    oldestMs: longest(parts.map(({ oldestMs }) => oldestMs)),
    due: sum(({ due }) => due),
    busy: sum(({ busy }) => busy),
  }
}
