/** Duty: read the asks of one partition. It never writes. */

import { type AskSort, type AskState, askSorts, askStates } from '../../core/worker/ask/ask.ts'
import type { PartitionKeys } from '../keys.ts'
import { askKey, sessionKeys, workerKeys } from '../keys.ts'
import type { Redis } from '../redis/redis.ts'
import { repliesOf } from '../script/replies.ts'

/** The record of an ask, with what Redis keeps of its worker. */
export interface AskRow {
  readonly id: string
  readonly sessionId: string
  readonly workerId: string
  readonly workerName: string | null
  readonly workerKind: string | null
  readonly run: number
  readonly sort: AskSort
  readonly bodyJson: string
  readonly state: AskState
  readonly askedAt: number
  readonly expiresAt: number | null
  readonly endedAt: number | null
  /** Null while nobody has answered. */
  readonly answerJson: string | null
}

/** The place of an ask among others, by age. */
export interface AskPlace {
  readonly askedAt: number
  readonly id: string
}

const fields = ['session', 'worker', 'run', 'sort', 'body', 'state', 'at', 'expires', 'endedAt', 'answer'] as const

export class AskStore {
  readonly #redis: Redis
  readonly #keys: PartitionKeys

  constructor(redis: Redis, keys: PartitionKeys) {
    this.#redis = redis
    this.#keys = keys
  }

  /** Open asks of the partition, the oldest first: at most `limit`, behind this place. */
  open(limit: number, after?: AskPlace): Promise<AskPlace[]> {
    return this.#page(this.#keys.asks, limit, after)
  }

  /** All asks of a session that are kept, the oldest first: at most `limit`, behind this place. */
  ofSession(sessionId: string, limit: number, after?: AskPlace): Promise<AskPlace[]> {
    return this.#page(sessionKeys(this.#keys.tag, sessionId).asks, limit, after)
  }

  async #page(key: string, limit: number, after?: AskPlace): Promise<AskPlace[]> {
    if (after === undefined) return places(await this.#redis.zrange(key, 0, String(limit - 1), 'WITHSCORES'))
    // Asks of the same moment are ordered by their ids.
    const beside = await this.#redis.zcount(key, after.askedAt, after.askedAt)
    const range = [after.askedAt, '+inf', 'WITHSCORES', 'LIMIT', 0, limit + beside] as const
    return places(await this.#redis.zrangebyscore(key, ...range))
      .filter((place) => place.askedAt > after.askedAt || place.id > after.id)
      .slice(0, limit)
  }

  /** The records of these asks that are kept, in their order. */
  async rows(ids: readonly string[]): Promise<AskRow[]> {
    const records = this.#redis.pipeline()
    for (const id of ids) records.hmget(askKey(this.#keys.tag, id), ...fields)
    const found = (await repliesOf(records)) as ((string | null)[] | Error)[]
    const rows = ids.flatMap((id, index) => rowOf(id, found[index]) ?? [])
    const workers = this.#redis.pipeline()
    for (const { workerId } of rows) workers.hmget(workerKeys(this.#keys.tag, workerId).record, 'kind', 'name')
    const named = (await repliesOf(workers)) as ((string | null)[] | Error)[]
    return rows.map((row, index) => {
      const reply = named[index]
      const [kind = null, name = null] = reply instanceof Error ? [] : (reply ?? [])
      return { ...row, workerKind: kind, workerName: name ?? kind }
    })
  }
}

function places(flat: readonly string[]): AskPlace[] {
  const found: AskPlace[] = []
  for (let index = 0; index < flat.length; index += 2)
    found.push({ id: flat[index] as string, askedAt: Number(flat[index + 1]) })
  return found
}

/** Undefined for an ask that is gone, and for a record that another program wrote over. */
function rowOf(id: string, reply: (string | null)[] | Error | undefined): AskRow | undefined {
  if (reply === undefined || reply instanceof Error) return undefined
  const [sessionId, workerId, run, sort, bodyJson, state, at, expires, endedAt, answerJson] = reply
  if (sessionId == null || workerId == null || bodyJson == null) return undefined
  return {
    id,
    sessionId,
    workerId,
    workerName: null,
    workerKind: null,
    run: Number(run ?? 1),
    sort: askSorts.find((known) => known === sort) ?? 'question',
    bodyJson,
    state: askStates.find((known) => known === state) ?? 'open',
    askedAt: Number(at ?? 0),
    expiresAt: expires == null ? null : Number(expires),
    endedAt: endedAt == null ? null : Number(endedAt),
    answerJson: answerJson ?? null,
  }
}
