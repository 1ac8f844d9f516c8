/**
 * Duty: find the partition in which a session begins: with a key of a caller, where that leads, or led before the number of partitions was raised;
 * without one, where Redis answers.
 * KEY-HOME-1 Where a key led under an earlier number of partitions, nobody begins a session any more (RAISE-2). So a caller that does not find it
 *     there may create one where the key leads now.
 * KEY-HOME-2 A partition whose Redis stands still has only been asked for a pool when another one is taken. Where a session may have been written,
 *     it is not created elsewhere.
 * KEY-HOME-3 The first partition, which has the earlier numbers, is asked for them as the client begins: a call with a key that comes while it is away
 *     needs its own partition alone.
 */
import { RuntimeError } from '../../core/errors.ts'
import { partitionOfKey } from '../../core/ids.ts'
import type { OpenPlace } from '../../store/places.ts'
import { guarded } from '../../store/redis/guarded.ts'
import { withDeadline } from '../../store/redis/redis.ts'
import type { SessionStore } from '../../store/session/session-store.ts'
import { earlierPartitions } from '../../store/set-up/raise.ts'

/** The clocks of this process and of Redis may differ by this much. */
const skewMsMax = 3_600_000

/** A partition whose Redis does not answer for this long stands still, as far as anybody knows. */
const patienceMs = 1_000

/** Where a session begins: its id, and the pool of its kind there. */
export interface Home {
  readonly store: SessionStore
  readonly sessionId: string
  readonly pool: string
}

/** A session that is to begin. */
interface Homeless {
  readonly key: string | undefined
  readonly keyDigest: string | null
  readonly kind: string
  readonly idIn: (partition: number) => string
}

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
    // KEY-HOME-3. A call asks again if this fails.
    this.#earlierOnes().catch(() => {})
  }

  async homeOf({ key, keyDigest, kind, idIn }: Homeless): Promise<Home> {
    const store = await this.#storeOf(key, keyDigest)
    // The id is made at once: ids are in the order of the calls, whichever pool is known first.
    const homeIn = async (one: SessionStore, sessionId: string) => ({
      store: one,
      sessionId,
      pool: await one.poolOf(kind),
    })
    const home = homeIn(store, idIn(store.partition))
    if (key !== undefined || this.#stores.length === 1) return home
    try {
      return await withDeadline(home, patienceMs)
    } catch (error) {
      if (error instanceof RuntimeError) throw error
    }
    // It does not answer. One that does is as good (KEY-HOME-2).
    const others = this.#stores.filter((one) => one !== store && !one.isAway)
    const other = Promise.any(others.map((one) => homeIn(one, idIn(one.partition))))
    return Promise.race([home, other.catch(() => home)])
  }

  /** Without a key, any partition will do whose Redis is not known to be away. */
  async #storeOf(key: string | undefined, digest: string | null): Promise<SessionStore> {
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
