/**
 * Duty: the reads of the audit in one partition, page by page. It never writes.
 * PICTURE-3 A key that another program wrote over is named, by a picture or by `damagedKeys`, and reads as empty. So the audit still sees the rest.
 */
import { defaultPool, isPool, sessionIdOfRoot, unhostedPool } from '../../core/ids.ts'
import type { Lane } from '../../core/worker/message/message.ts'
import { askKey, type PartitionKeys, recordOf, rootKey, sessionKeys, workerKeys, workersPattern } from '../keys.ts'
import { type LetterRow, ReadStore } from '../read-store.ts'
import { sessionOfPath } from '../record/worker-record.ts'
import { allFields } from '../redis/large-keys.ts'
import type { Redis } from '../redis/redis.ts'
import { StoredDamage } from '../redis/store-error.ts'
import { type EventEntry, orElse, type RecordFields, repliesOf, scored, toEventEntries } from '../script/replies.ts'
import type { ScriptCaller } from '../script/script.ts'
import type { Picture } from './audit-picture.ts'
import { damagedKeys } from './damaged-keys.ts'
import { type GateGuest, type GuestRun, gateGuests, guestRun } from './gate-guests.ts'
import { type Mail, Pictures } from './pictures.ts'

export interface Page<Item> {
  readonly items: readonly Item[]
  /** The cursor of the next page; null at the end. */
  readonly next: string | null
  /** False if another program made the key another sort. */
  readonly isRead?: boolean
}

/** Yields all pages. */
export async function* pagesOf<Item>(read: (cursor: string) => Promise<Page<Item>>): AsyncGenerator<readonly Item[]> {
  for (let next: string | null = '0'; next !== null; ) {
    const page = await read(next)
    yield page.items
    next = page.next
  }
}

/** Yields the items of all pages. */
export async function* itemsOf<Item>(read: (cursor: string) => Promise<Page<Item>>): AsyncGenerator<Item> {
  for await (const page of pagesOf(read)) yield* page
}

const pageSize = 1_000

export class AuditStore {
  readonly partition: number
  readonly #redis: Redis
  readonly #keys: PartitionKeys
  readonly #read: ReadStore
  readonly #pictures: Pictures

  constructor(redis: Redis, caller: ScriptCaller, keys: PartitionKeys, partition: number, deadlineMs: number) {
    this.#redis = redis
    this.#read = new ReadStore(redis, keys)
    this.#keys = keys
    this.partition = partition
    this.#pictures = new Pictures(redis, caller, keys, deadlineMs)
  }

  /** Every pool that may have a run queue. If a register cannot be read, all run queues are looked up by their keys. */
  async pools(): Promise<string[]> {
    const [kinds, nodes, former] = await Promise.all([
      orElse(this.#read.kinds(), null),
      orElse(this.#read.nodes(), null),
      // A kind may have been moved to another pool. Its workers stand in the old one until a sweep moves them.
      orElse(this.#read.poolsEverHosted(), []),
    ])
    const registered = [...(kinds ?? []).map(({ pool }) => pool), ...(nodes ?? []).flatMap(({ pools }) => pools)]
    const found = kinds && nodes ? [] : await this.#walk(this.#keys.run(''))
    return [...new Set([defaultPool, unhostedPool, ...[...registered, ...former, ...found].filter(isPool)])]
  }

  /** True if nothing was ever started here: then there is no key of a node or of a session. */
  async isUnused(): Promise<boolean> {
    const { sessions, events, dead, kinds, nodes, retired } = this.#keys
    return (await this.#redis.exists(sessions, events, dead, kinds, nodes, retired)) === 0
  }

  /** Sentences about damaged keys of the whole partition. */
  damagedKeys(pools: readonly string[]): Promise<string[]> {
    return damagedKeys(this.#redis, this.#keys, pools)
  }

  /** `mail`: whether the pictures have the beginnings of mails, or only how many there are. */
  look(
    sessionId: string | null,
    workerIds: readonly string[],
    pools: readonly string[],
    mail: Mail = 'heads',
  ): Promise<Picture> {
    return this.#pictures.of(sessionId, workerIds, pools, mail)
  }

  /** The time by the clock of Redis, in ms. */
  async now(): Promise<number> {
    const [seconds, micros] = await this.#redis.time()
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
  }

  /** The time by which all present sessions were created, even those that a clock dated that was set back since. */
  async newest(): Promise<number> {
    const found = await orElse(this.#redis.zrange(this.#keys.sessions, '-1', '-1', 'WITHSCORES'), [])
    return Math.max(await this.now(), Number(found[1] ?? 0))
  }

  /** How many sessions there are; `since`: without those that had ended before. 0: the index cannot be read. */
  async countSessions(since?: number): Promise<number> {
    const { sessions, ends } = this.#keys
    if (since === undefined) return orElse(this.#redis.zcard(sessions), 0)
    const [live, ended] = await Promise.all([
      orElse(this.#redis.zcount(ends, '-inf', '(0'), 0),
      orElse(this.#redis.zcount(ends, since, '+inf'), 0),
    ])
    return live + ended
  }

  /**
   * Sessions in the index that were created by `until`, in the order of the index. With `since`: only those that go on, and those that ended between
   * the two times. Sessions that begin or end while the audit reads are left to the next audit. If the index cannot be read, these are the
   * sessions whose root has
   * a record.
   */
  async sessionIds(cursor: string, until: number, since?: number): Promise<Page<string>> {
    const page = await this.#sessionsBehind(cursor, until, since)
    if (page !== null) return page
    const ids = (await this.#walk(`${this.#keys.tag}:w:`)).filter((id) => !id.includes(':'))
    const items: string[] = []
    for (let from = 0; from < ids.length; from += pageSize)
      items.push(...(await this.#rootsOf(ids.slice(from, from + pageSize))))
    return { items: items.map(sessionIdOfRoot), next: null }
  }

  /** A cursor is `<score> <id>` of the last one before. Reading by score gives no session twice, however the index changes meanwhile. */
  async #sessionsBehind(cursor: string, until: number, since?: number): Promise<Page<string> | null> {
    const index = since === undefined ? this.#keys.sessions : this.#keys.ends
    const [score = '-inf', before = ''] = cursor === '0' ? [] : cursor.split(' ')
    const found = await orElse(this.#readScored(index, score, until), null)
    if (found === null) return null
    const behind = found.filter(([id, at]) => String(at) !== score || id > before)
    const items = behind.filter(([, at]) => since === undefined || at < 0 || at >= since).map(([id]) => id)
    const [id, at] = behind.at(-1) ?? []
    if (id === undefined || at === undefined) return { items, next: null }
    // Sessions that had ended before are passed over.
    const isBefore = since !== undefined && at >= 0 && at < since
    return { items, next: isBefore ? `${since} ` : `${at} ${id}` }
  }

  async #readScored(index: string, score: string, until: number): Promise<[id: string, score: number][]> {
    const beside = score === '-inf' ? 0 : await this.#redis.zcount(index, score, score)
    const flat = await this.#redis.zrangebyscore(index, score, until, 'WITHSCORES', 'LIMIT', 0, pageSize + beside)
    return scored(flat)
  }

  /** The ids among these whose record is that of a root. */
  async #rootsOf(ids: readonly string[]): Promise<string[]> {
    const read = ids.map((id) => this.#redis.hmget(workerKeys(this.#keys.tag, id).record, 'kind', 'path1'))
    const found = await Promise.all(read.map((reading) => orElse(reading, [])))
    return ids.filter((_, index) => found[index]?.[0] != null && found[index][1] == null)
  }

  createdAt(sessionId: string): Promise<number | null> {
    return orElse(this.#read.createdAt(sessionId), null)
  }

  /** The sessions among these that are not in the index and whose root has no record. */
  async gone(sessionIds: readonly string[]): Promise<string[]> {
    const nobody = sessionIds.map(() => null)
    const roots = sessionIds.map((id) => rootKey(this.#keys.tag, id))
    const [scores, records] = await Promise.all([
      orElse(this.#redis.zmscore(this.#keys.sessions, ...sessionIds), nobody),
      Promise.all(roots.map((key) => this.#redis.exists(key))),
    ])
    return sessionIds.filter((_, index) => scores[index] === null && records[index] === 0)
  }

  async sessionExists(sessionId: string): Promise<boolean> {
    return (await this.#redis.exists(rootKey(this.#keys.tag, sessionId))) === 1
  }

  /** True if a child has this id: then it is the id of no session. */
  async isOfChild(sessionId: string): Promise<boolean> {
    return (await orElse(this.#redis.hget(rootKey(this.#keys.tag, sessionId), 'path1'), null)) !== null
  }

  /** Workers of a session except its root, in the order in which they were spawned. */
  async memberIds(sessionId: string, cursor: string): Promise<Page<string>> {
    const from = Number(cursor)
    const items = await orElse(this.#read.childIds(sessionId, from, pageSize), [])
    return { items, next: items.length < pageSize ? null : String(from + pageSize) }
  }

  /** Entries of a history, at most `most` from this position on. An entry whose pack is damaged is empty. */
  async entries(workerId: string, from: number, most: number): Promise<string[]> {
    const read = (position: number, count: number) => orElse(this.#read.entries(workerId, position, count), [])
    const count = Math.min(most, pageSize)
    try {
      return await read(from, count)
    } catch (error) {
      if (!(error instanceof StoredDamage)) throw error
    }
    const entries: string[] = []
    for (let position = from; position < from + count; position++) {
      const [entry] = await orBlank(read(position, 1))
      if (entry === undefined) break
      entries.push(entry)
    }
    return entries
  }

  /** How these runs ended, as the session stores it: "<status> <position>", or null. */
  async results(sessionId: string, runs: readonly number[]): Promise<(string | null)[]> {
    return orElse(
      this.#read.resultLines(sessionId, runs),
      runs.map(() => null),
    )
  }

  /** For a session that is a copy: the id that each worker had in the original session, and its id in the copy. */
  originals(sessionId: string): Promise<RecordFields> {
    return orElse(allFields(this.#redis, sessionKeys(this.#keys.tag, sessionId).originals), {})
  }

  /** Entries of the event stream behind this id. */
  async events(after: string): Promise<Page<EventEntry>> {
    const found = await orElse(this.#redis.xrange(this.#keys.events, `(${after}`, '+', 'COUNT', pageSize), [])
    return { items: toEventEntries(found), next: found.length < pageSize ? null : (found.at(-1)?.[0] ?? null) }
  }

  async deadLetters(after: string): Promise<Page<LetterRow>> {
    const found = await orElse(this.#read.lettersBehind(after, '+', pageSize), null)
    const items = found ?? []
    return { items, isRead: found !== null, next: items.length < pageSize ? null : (items.at(-1)?.id ?? null) }
  }

  /** The runs of other partitions that this one, if it is the first, has at its gates. */
  guests(): Promise<readonly GateGuest[]> {
    return gateGuests(this.#redis, this.#keys)
  }

  /** How such a run of this partition stands. Null: its worker has no record. */
  guestRun(guest: GateGuest): Promise<GuestRun | null> {
    return guestRun(this.#redis, this.#keys, guest)
  }

  /** The asks in the inbox. */
  async inbox(cursor: string): Promise<Page<string>> {
    return this.#members(this.#keys.asks, cursor)
  }

  /**
   * Whether the ask is in the inbox although nobody waits for its answer, and the worker that asked it. Null: it is not in the inbox, or it is
   * open.
   */
  async orphanAsk(ask: string): Promise<{ readonly workerId: string | null; readonly state: string | null } | null> {
    const [score, record] = await Promise.all([
      orElse(this.#redis.zscore(this.#keys.asks, ask), null),
      orElse(this.#redis.hmget(askKey(this.#keys.tag, ask), 'worker', 'state'), [null, null]),
    ])
    const [workerId = null, state = null] = record
    if (score === null) return null
    const open = workerId === null ? null : workerKeys(this.#keys.tag, workerId).asks
    const isOpen = open !== null && (await orElse(this.#redis.sismember(open, ask), 1)) === 1
    return isOpen && state === null ? null : { workerId, state }
  }

  /** Members of a set: workers that run or are queued in a pool, or timers as `<worker>:<timer>`. */
  async members(where: { readonly pool: string } | 'leases' | 'timers', cursor: string): Promise<Page<string>> {
    return this.#members(typeof where === 'object' ? this.#keys.run(where.pool) : this.#keys[where], cursor)
  }

  /** The members whose worker has no record. */
  async withoutRecord(where: Parameters<AuditStore['members']>[0], cursor: string): Promise<Page<string>> {
    const page = await this.members(where, cursor)
    const reading = this.#redis.pipeline()
    for (const member of page.items) reading.exists(workerKeys(this.#keys.tag, member.slice(0, 36)).record)
    const replies = page.items.length === 0 ? [] : await repliesOf(reading)
    return { ...page, items: page.items.filter((_, index) => replies[index] === 0) }
  }

  async #members(zset: string, cursor: string): Promise<Page<string>> {
    const found = await orElse(this.#redis.zscan(zset, cursor, 'COUNT', pageSize), null)
    if (found === null) return { items: [], next: null, isRead: false }
    const [next, flat] = found
    return { items: flat.filter((_, index) => index % 2 === 0), next: next === '0' ? null : next, isRead: true }
  }

  /** What follows the prefix in each key that begins with it. Used only if the list of these names cannot be read. */
  async #walk(prefix: string): Promise<string[]> {
    const ends: string[] = []
    let cursor = '0'
    do {
      const [next, keys] = await this.#redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', pageSize)
      for (const key of keys) ends.push(key.slice(prefix.length))
      cursor = next
    } while (cursor !== '0')
    return [...new Set(ends)]
  }

  /** The server that has the partition now. */
  get server(): string {
    const { remoteAddress, remotePort } = this.#redis.stream
    return `${remoteAddress}:${remotePort}`
  }

  /** All workers of all partitions of this server that have a record, by a walk over all its keys. Some workers come twice. */
  async records(cursor: string): Promise<Page<{ readonly partition: number; readonly id: string }>> {
    const pattern = workersPattern(this.#keys.tag)
    const [next, keys] = await this.#redis.scan(cursor, 'MATCH', pattern, 'COUNT', pageSize)
    return { items: keys.flatMap((key) => recordOf(key) ?? []), next: next === '0' ? null : next }
  }

  /** Those of these workers whose session has no root, or is not in the index; and those whose record cannot be read. */
  async withoutSession(ids: readonly string[]): Promise<string[]> {
    const reading = this.#redis.pipeline()
    for (const id of ids) reading.hget(workerKeys(this.#keys.tag, id).record, 'path1')
    const paths = (await repliesOf(reading)) as (string | null | Error)[]
    const sessions = ids.map((id, index) => {
      const path1 = paths[index]
      if (path1 instanceof Error) return null
      return path1 == null ? sessionIdOfRoot(id) : sessionOfPath(path1)
    })
    const all = [...new Set(sessions.filter((session) => session !== null))]
    const looking = this.#redis.pipeline()
    for (const session of all) looking.hexists(rootKey(this.#keys.tag, session), 'kind')
    const [roots, scores] = await Promise.all([
      all.length === 0 ? [] : repliesOf(looking),
      all.length === 0 ? [] : orElse(this.#redis.zmscore(this.#keys.sessions, ...all), null),
    ])
    const there = new Set(all.filter((_, index) => roots[index] === 1 && (scores === null || scores[index] !== null)))
    return ids.filter((_, index) => !there.has(sessions[index] ?? ''))
  }

  /** The session that the record of a worker names. Null for a root, and if the record cannot be read. */
  async sessionOf(workerId: string): Promise<string | null> {
    const path1 = await orElse(this.#redis.hget(workerKeys(this.#keys.tag, workerId).record, 'path1'), null)
    return path1 === null ? null : sessionOfPath(path1)
  }

  /** How many sessions and workers were pruned, and how many messages their lanes had accepted. */
  async retired(): Promise<Readonly<Record<'sessions' | 'workers' | Lane, number>>> {
    const fields: RecordFields = await orElse(this.#redis.hgetall(this.#keys.retired), {})
    const count = (name: string) => Number(fields[name] ?? 0)
    return {
      sessions: count('sessions'),
      workers: count('workers'),
      signals: count('signals'),
      results: count('results'),
      inbox: count('inbox'),
    }
  }
}

/** What the reading gives; an empty entry if it finds damage. */
async function orBlank(reading: Promise<string[]>): Promise<string[]> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof StoredDamage) return ['']
    throw error
  }
}
