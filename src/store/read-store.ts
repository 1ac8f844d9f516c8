/**
 * Duty: the reads of one partition that inspections, audits and dead letters share.
 * READ-1 It never writes.
 * READ-2 If another program made a key another sort, the read throws. A caller that can do without the key catches that (`orElse`).
 */
import { isPool } from '../core/ids.ts'
import { readEntries } from './history/read-entries.ts'
import { type PartitionKeys, sessionKeys, workerKeys } from './keys.ts'
import { decodeKindLine, decodeNodeLines, type KindRow, type NodeRow } from './record/register-line.ts'
import { allFields, allMembers } from './redis/large-keys.ts'
import type { Redis } from './redis/redis.ts'
import { type RecordFields, toEntries } from './script/replies.ts'

/** A session may have a hundred thousand workers. */
const idsAtOnce = 5_000
/** The line of a node with a thousand kinds has twenty thousand bytes. */
const linesAtOnce = 50

/** A dead letter as it is stored. */
export interface LetterRow {
  readonly id: string
  readonly fields: RecordFields
}

export class ReadStore {
  readonly #redis: Redis
  readonly #keys: PartitionKeys

  constructor(redis: Redis, keys: PartitionKeys) {
    this.#redis = redis
    this.#keys = keys
  }

  /** When a session was created, according to the index. */
  async createdAt(sessionId: string): Promise<number | null> {
    const score = await this.#redis.zscore(this.#keys.sessions, sessionId)
    return score === null ? null : Number(score)
  }

  /** Workers of a session except its root, in the order in which they were spawned: at most `most` from this position on. */
  async childIds(sessionId: string, from: number, most: number): Promise<string[]> {
    const { workers } = sessionKeys(this.#keys.tag, sessionId)
    const ids: string[] = []
    while (ids.length < most) {
      const count = Math.min(idsAtOnce, most - ids.length)
      const page = await this.#redis.lrange(workers, from + ids.length, from + ids.length + count - 1)
      for (const id of page) ids.push(id)
      if (page.length < count) break
    }
    return ids
  }

  /** Entries of a history as they were written, at most `most` from this position on. */
  entries(workerId: string, from: number, most: number): Promise<string[]> {
    return readEntries(this.#redis, workerKeys(this.#keys.tag, workerId).log, from, from + most - 1)
  }

  /** The stored lines that say how these runs of the root ended; null for a run without a line. */
  resultLines(sessionId: string, runs: readonly number[]): Promise<(string | null)[]> {
    return this.#redis.hmget(sessionKeys(this.#keys.tag, sessionId).runResults, ...runs.map(String))
  }

  async nodes(): Promise<NodeRow[]> {
    const { nodes, seen } = this.#keys
    const [lines, seenAt] = await Promise.all([
      allFields(this.#redis, nodes, linesAtOnce),
      allFields(this.#redis, seen),
    ])
    return decodeNodeLines(lines, seenAt)
  }

  async kinds(): Promise<KindRow[]> {
    const lines = await allFields(this.#redis, this.#keys.kinds)
    return Object.entries(lines).map(([kind, line]) => decodeKindLine(kind, line))
  }

  async poolsEverHosted(): Promise<string[]> {
    return (await allMembers(this.#redis, this.#keys.pools)).filter(isPool)
  }

  /** Dead letters behind this one up to `last`, oldest first. */
  async lettersBehind(after: string | undefined, last: string, most: number): Promise<LetterRow[]> {
    const first = after === undefined ? '-' : `(${after}`
    return toEntries(await this.#redis.xrange(this.#keys.dead, first, last, 'COUNT', most))
  }

  async letter(id: string): Promise<LetterRow | undefined> {
    return toEntries(await this.#redis.xrange(this.#keys.dead, id, id))[0]
  }

  /** Dead letters before this one, newest first. */
  async newestLetters(most: number, before?: string): Promise<LetterRow[]> {
    const last = before === undefined ? '+' : `(${before}`
    return toEntries(await this.#redis.xrevrange(this.#keys.dead, last, '-', 'COUNT', most))
  }
}
