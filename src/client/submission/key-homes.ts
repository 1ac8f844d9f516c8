/**
 * Duty: find the partition in which a key of a caller begins a session, or began it before the number of partitions was raised.
 * KEY-HOME-1 Where a key led under an earlier number of partitions, nobody begins a session any more (RAISE-2). So a caller that does not find it
 *     there may create one where the key leads now.
 */
import { partitionOfKey } from '../../core/ids.ts'
import type { OpenPlace } from '../../store/places.ts'
import { guarded } from '../../store/redis/guarded.ts'
import type { SessionStore } from '../../store/session/session-store.ts'
import { earlierPartitions } from '../../store/set-up/raise.ts'

/** The clocks of this process and of Redis may differ by this much. */
const skewMsMax = 3_600_000

export class KeyHomes {
  readonly #first: OpenPlace
  readonly #stores: readonly SessionStore[]
  readonly #keyMs: number
  readonly #deadlineMs: number
  #earlier: { readonly of: number; readonly read: Promise<readonly number[]> } | undefined

  constructor(
    first: OpenPlace,
    stores: readonly SessionStore[],
    { keyMs, deadlineMs }: { readonly keyMs: number; readonly deadlineMs: number },
  ) {
    this.#first = first
    this.#stores = stores
    this.#keyMs = keyMs
    this.#deadlineMs = deadlineMs
  }

  /** Without a key, any partition will do whose Redis is not known to be away. */
  async storeOf(key: string | undefined, digest: string | null): Promise<SessionStore> {
    if (key === undefined || digest === null) {
      const here = this.#stores.filter(({ isAway }) => !isAway)
      const among = here.length > 0 ? here : this.#stores
      return among[Math.floor(Math.random() * among.length)] as SessionStore
    }
    const earlier = await this.#earlierOnes()
    const now = partitionOfKey(key, this.#stores.length)
    for (const partitions of earlier) {
      const before = this.#stores[partitionOfKey(key, partitions)] as SessionStore
      if (before.partition !== now && (await before.knowsKey(digest))) return before
    }
    return this.#stores[now] as SessionStore
  }

  /** The earlier numbers of partitions, under which keys that are still known may have created sessions. There is none for a single partition. */
  async #earlierOnes(): Promise<readonly number[]> {
    if (this.#stores.length === 1) return []
    // They were others before the number was raised.
    if (this.#earlier?.of !== this.#stores.length) this.#earlier = { of: this.#stores.length, read: this.#read() }
    try {
      return await this.#earlier.read
    } catch (error) {
      this.#earlier = undefined
      throw error
    }
  }

  async #read(): Promise<readonly number[]> {
    const { redis, keys } = this.#first
    const read = () => earlierPartitions(redis, keys.meta)
    const all = await guarded('reading earlier numbers of partitions', read, this.#deadlineMs)
    const known = all.filter(({ until }) => until + this.#keyMs + skewMsMax > Date.now())
    return known.map(({ partitions }) => partitions)
  }
}
