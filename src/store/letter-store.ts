/** Duty: reads dead letters of one partition, with what was done with each since (`T:redriven`). Never writes. */
import type { PartitionKeys } from './keys.ts'
import type { Redis } from './redis/redis.ts'
import { type RecordFields, toEntries } from './script/replies.ts'

export interface DeadRow {
  readonly id: string
  readonly fields: RecordFields
  /** The place in the mailbox where its message was put back. */
  readonly redriven: number | null
  readonly isDismissed: boolean
}

export class LetterStore {
  readonly #redis: Redis
  readonly #keys: PartitionKeys

  constructor(redis: Redis, keys: PartitionKeys) {
    this.#redis = redis
    this.#keys = keys
  }

  /** So many before this one, newest first. */
  async newestLetters(most: number, before?: string): Promise<DeadRow[]> {
    const last = before === undefined ? '+' : `(${before}`
    return this.#rows(await this.#redis.xrevrange(this.#keys.dead, last, '-', 'COUNT', most))
  }

  /** So many behind this one, oldest first, and none behind `last`. */
  async lettersBehind(after: string | undefined, last: string, most: number): Promise<DeadRow[]> {
    const first = after === undefined ? '-' : `(${after}`
    return this.#rows(await this.#redis.xrange(this.#keys.dead, first, last, 'COUNT', most))
  }

  async letter(id: string): Promise<DeadRow | undefined> {
    return (await this.#rows(await this.#redis.xrange(this.#keys.dead, id, id)))[0]
  }

  async #rows(entries: readonly [id: string, flat: string[]][]): Promise<DeadRow[]> {
    const found = toEntries(entries)
    if (found.length === 0) return []
    const times = found.map(({ id }) => Number(id.split('-')[0]))
    const cancelCount = await this.#redis.zrangebyscore(this.#keys.redriven, Math.min(...times), Math.max(...times))
    const dispositionOf = new Map(cancelCount.map((disposition) => disposition.split(' ', 2) as [string, string]))
    return found.map((row) => {
      const disposition = dispositionOf.get(row.id)
      const isDismissed = disposition === 'dismissed'
      return { ...row, isDismissed, redriven: disposition === undefined || isDismissed ? null : Number(disposition) }
    })
  }
}
