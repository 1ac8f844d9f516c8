/** Duty: read the dead letters of one partition, each with its disposition (`T:redriven`): put back, dismissed, or neither. It never writes. */
import { openLettersKey, type PartitionKeys } from '../keys.ts'
import { type LetterRow, ReadStore } from '../read-store.ts'
import type { Redis } from '../redis/redis.ts'

export interface DeadRow extends LetterRow {
  /** The position in the mailbox to which its message was put back; null if it was not. */
  readonly redriven: number | null
  readonly isDismissed: boolean
}

export class LetterStore {
  readonly #redis: Redis
  readonly #keys: PartitionKeys
  readonly #read: ReadStore

  constructor(redis: Redis, keys: PartitionKeys) {
    this.#redis = redis
    this.#keys = keys
    this.#read = new ReadStore(redis, keys)
  }

  /** At most `most` letters before this one, newest first. */
  async newestLetters(most: number, before?: string): Promise<DeadRow[]> {
    return this.#withDispositions(await this.#read.newestLetters(most, before))
  }

  /** At most `most` letters behind this one up to `last`, oldest first. */
  async lettersBehind(after: string | undefined, last: string, most: number): Promise<DeadRow[]> {
    return this.#withDispositions(await this.#read.lettersBehind(after, last, most))
  }

  async letter(id: string): Promise<DeadRow | undefined> {
    const found = await this.#read.letter(id)
    return found && (await this.#withDispositions([found]))[0]
  }

  /** The index of open letters, newest first. It lacks those that an earlier version wrote. */
  openLetterIds(): Promise<string[]> {
    return this.#redis.zrange(openLettersKey(this.#keys.tag), 0, '-1', 'REV')
  }

  /** A disposition is `<letter> <position in the mailbox> <wakeups>`, or `<letter> dismissed` (lua/shared/mail/letters.lua). */
  async #withDispositions(letters: readonly LetterRow[]): Promise<DeadRow[]> {
    if (letters.length === 0) return []
    const times = letters.map(({ id }) => Number(id.split('-')[0]))
    const lines = await this.#redis.zrangebyscore(this.#keys.redriven, Math.min(...times), Math.max(...times))
    const dispositions = new Map(lines.map((line) => line.split(' ', 2) as [letter: string, what: string]))
    return letters.map((letter) => {
      const disposition = dispositions.get(letter.id)
      const isDismissed = disposition === 'dismissed'
      return { ...letter, isDismissed, redriven: disposition === undefined || isDismissed ? null : Number(disposition) }
    })
  }
}
