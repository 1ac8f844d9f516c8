/**
 * Duty: what the audit reads of one partition, page by page, and nothing written. A picture is of one moment: records, lanes and the
 * sets they stand in are read by one script. Histories only grow, so that entries read later, up to the length that a picture tells,
 * are those of its moment.
 */
import type { Lane } from '../core/message.ts'
import { type RecordFields, toEntries } from './inspect-store.ts'
import { type PartitionKeys, sessionKeys, workerKeys } from './keys.ts'
import type { Redis } from './redis.ts'
import type { Reply, ScriptCaller } from './script.ts'
import { lookScript } from './scripts.ts'

export interface LanePicture {
  readonly length: number
  /** The beginnings of the mails; one that was consumed in the middle is empty. */
  readonly heads: readonly string[]
  /** False when the lane holds more than one look reads. */
  readonly isWhole: boolean
}

export interface WorkerPicture {
  readonly id: string
  readonly fields: RecordFields
  readonly historyLength: number
  readonly failureJson: string
  readonly lanes: Readonly<Record<Lane, LanePicture>>
  /** Timers that have a value, each with whether it has a time. */
  readonly timers: readonly { readonly id: string; readonly isTimed: boolean }[]
  readonly isLeased: boolean
  /** Pools in whose run queue it stands. */
  readonly queuedIn: readonly string[]
  readonly hasRetryTimer: boolean
}

export interface SessionPicture {
  readonly id: string
  /** schema, state, ended, workers, cancel, marks, retired; null without a record. */
  readonly fields: RecordFields | null
  readonly listed: number
  readonly cancelled: readonly string[]
  readonly isIndexed: boolean
  readonly isCancelling: boolean
}

export interface Picture {
  readonly session: SessionPicture | null
  readonly workers: readonly WorkerPicture[]
  /** Ids without a record, each with whether its session lists it. */
  readonly missing: readonly { readonly id: string; readonly isListed: boolean }[]
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Where the next page begins; null at the end. */
  readonly next: string | null
}

const pageSize = 1_000
/** Heads of mails end behind ids, call and status. */
const headBytes = 80
const budgetBytes = 16_777_216
const sessionFields = ['schema', 'state', 'ended', 'workers', 'cancel', 'marks', 'retired'] as const

export class AuditStore {
  readonly partition: number
  readonly #redis: Redis
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #deadlineMs: number

  constructor(redis: Redis, caller: ScriptCaller, keys: PartitionKeys, partition: number, deadlineMs: number) {
    this.#redis = redis
    this.#caller = caller
    this.#keys = keys
    this.partition = partition
    this.#deadlineMs = deadlineMs
  }

  /** Every pool that can have a run queue. */
  async pools(): Promise<string[]> {
    const [kinds, nodes] = await Promise.all([this.#redis.hvals(this.#keys.kinds), this.#redis.hvals(this.#keys.nodes)])
    const hosted = nodes.flatMap((line) => (line.split(' ')[2] ?? '').split(',').filter(Boolean))
    return [...new Set(['default', 'unhosted', ...kinds.map((line) => line.split(' ')[0] as string), ...hosted])]
  }

  async look(sessionId: string | null, workerIds: readonly string[], pools: readonly string[]): Promise<Picture> {
    const { leases, timers, sessions, cancelling } = this.#keys
    const [session, workers] = (await this.#caller.call(
      lookScript,
      { leases, timers, sessions, cancelling },
      { session: sessionId ?? '', headBytes, budget: budgetBytes, asked: [pools.length, ...pools, ...workerIds] },
      { deadlineMs: this.#deadlineMs },
    )) as [Reply, Reply[]]
    return {
      session: sessionId === null ? null : sessionPicture(sessionId, session),
      workers: workers.filter((reply) => reply.length > 2).map(workerPicture),
      missing: workers
        .filter((reply) => reply.length === 2)
        .map(([id, isListed]) => ({ id: String(id), isListed: isListed === 1 })),
    }
  }

  async sessionIds(cursor: string): Promise<Page<string>> {
    const [next, flat] = await this.#redis.zscan(this.#keys.sessions, cursor, 'COUNT', pageSize)
    return { items: flat.filter((_, index) => index % 2 === 0), next: next === '0' ? null : next }
  }

  async createdAt(sessionId: string): Promise<number | null> {
    const score = await this.#redis.zscore(this.#keys.sessions, sessionId)
    return score === null ? null : Number(score)
  }

  async sessionExists(sessionId: string): Promise<boolean> {
    return (await this.#redis.exists(sessionKeys(this.#keys.tag, sessionId).session)) === 1
  }

  /** Workers of a session but its root, in the order they were spawned. */
  async memberIds(sessionId: string, cursor: string): Promise<Page<string>> {
    const from = Number(cursor)
    const items = await this.#redis.lrange(sessionKeys(this.#keys.tag, sessionId).workers, from, from + pageSize - 1)
    return { items, next: items.length < pageSize ? null : String(from + pageSize) }
  }

  /** Entries as they are stored, from this position on, `most` at most. */
  async entries(workerId: string, from: number, most: number): Promise<string[]> {
    return this.#redis.lrange(workerKeys(this.#keys.tag, workerId).log, from, from + Math.min(most, pageSize) - 1)
  }

  /** What the session says of how these runs ended: "<status> <position>", or null. */
  async results(sessionId: string, runs: readonly number[]): Promise<(string | null)[]> {
    const names = runs.map((run) => `result:${run}`)
    return this.#redis.hmget(sessionKeys(this.#keys.tag, sessionId).session, ...names)
  }

  /** Entries of the event stream after this stream id. */
  async events(after: string): Promise<Page<{ readonly id: string; readonly fields: RecordFields }>> {
    return this.#stream(this.#keys.events, after)
  }

  async deadLetters(after: string): Promise<Page<{ readonly id: string; readonly fields: RecordFields }>> {
    return this.#stream(this.#keys.dead, after)
  }

  async deadLength(): Promise<number> {
    return this.#redis.xlen(this.#keys.dead)
  }

  async #stream(key: string, after: string) {
    const items = toEntries(await this.#redis.xrange(key, `(${after}`, '+', 'COUNT', pageSize))
    return { items, next: items.length < pageSize ? null : (items.at(-1)?.id ?? null) }
  }

  /** Members of a set of this partition: workers that run, or that are queued in a pool; `<worker>:<timer>`. */
  async standing(where: { readonly pool: string } | 'leases' | 'timers', cursor: string): Promise<Page<string>> {
    const key = typeof where === 'object' ? this.#keys.run(where.pool) : this.#keys[where]
    const [next, flat] = await this.#redis.zscan(key, cursor, 'COUNT', pageSize)
    return { items: flat.filter((_, index) => index % 2 === 0), next: next === '0' ? null : next }
  }

  /** Ids of records, whoever knows of them: a walk over all keys of this Redis. */
  async recordIds(cursor: string): Promise<Page<{ readonly id: string; readonly session: string | null }>> {
    const prefix = `${this.#keys.tag}:w:`
    const [next, keys] = await this.#redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', pageSize)
    const ids = [...new Set(keys.map((key) => key.slice(prefix.length)))].filter((id) => !id.includes(':'))
    const sessions = await Promise.all(ids.map((id) => this.#redis.hget(`${prefix}${id}`, 'session')))
    const items = ids.map((id, index) => ({ id, session: sessions[index] ?? null }))
    return { items, next: next === '0' ? null : next }
  }

  /** What pruning counted: sessions, workers, and what the lanes of those had accepted. */
  async retired(): Promise<Readonly<Record<'sessions' | 'workers' | Lane, number>>> {
    const fields = await this.#redis.hgetall(this.#keys.retired)
    const count = (name: string) => Number(fields[name] ?? 0)
    return {
      sessions: count('sessions'),
      workers: count('workers'),
      control: count('control'),
      family: count('family'),
      user: count('user'),
    }
  }
}

function sessionPicture(id: string, reply: Reply): SessionPicture {
  const [values, listed, cancelled, isIndexed, isCancelling] = reply as [
    (string | null)[],
    number,
    string[],
    number,
    number,
  ]
  const fields: Record<string, string> = {}
  for (const [index, name] of sessionFields.entries()) if (values[index] != null) fields[name] = values[index]
  return {
    id,
    fields: fields.schema === undefined ? null : fields,
    listed,
    cancelled,
    isIndexed: isIndexed === 1,
    isCancelling: isCancelling === 1,
  }
}

function workerPicture(reply: Reply): WorkerPicture {
  const [id, flat, historyLength, failureJson, control, family, user, timers, leased, queuedIn, retry] = reply as [
    string,
    string[],
    number,
    string,
    Reply,
    Reply,
    Reply,
    [string, number][],
    number,
    string[],
    number,
  ]
  const fields: Record<string, string> = {}
  for (let index = 0; index + 1 < flat.length; index += 2) fields[flat[index] as string] = flat[index + 1] as string
  return {
    id,
    fields,
    historyLength,
    failureJson,
    lanes: { control: lanePicture(control), family: lanePicture(family), user: lanePicture(user) },
    timers: timers.map(([timer, isTimed]) => ({ id: timer, isTimed: isTimed === 1 })),
    isLeased: leased === 1,
    queuedIn,
    hasRetryTimer: retry === 1,
  }
}

function lanePicture(reply: Reply): LanePicture {
  const [length, heads, whole] = reply as [number, string[], number]
  return { length, heads, isWhole: whole === 1 }
}
