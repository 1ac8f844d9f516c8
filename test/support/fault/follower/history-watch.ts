/**
 * Looks at the histories of some sessions again and again while they run: each look must be the beginning of the next, and the first
 * look that shows an entry is a moment at which it was certainly recorded.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { sessionKeys, workerKeys } from '../../../../src/store/keys.ts'

export interface WatchedHistory {
  readonly texts: readonly string[]
  /** When each entry was seen first. */
  readonly seenAt: readonly number[]
}

export class HistoryWatch implements AsyncDisposable {
  /** The histories that changed in another way than by an append, in words. */
  readonly faults: string[] = []
  looks = 0
  readonly #redis: Redis
  readonly #tag: string
  readonly #sessions: { readonly id: string; readonly rootId: string }[] = []
  readonly #histories = new Map<string, { texts: string[]; seenAt: number[] }>()
  #isOver = false
  readonly #watching: Promise<void>

  constructor(redis: Redis, tag: string) {
    this.#redis = redis
    this.#tag = tag
    this.#watching = this.#watch()
  }

  add(session: { readonly id: string; readonly rootId: string }): void {
    this.#sessions.push(session)
  }

  get histories(): ReadonlyMap<string, WatchedHistory> {
    return this.#histories
  }

  /** Looks a last time, then ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#watching
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      await this.look()
      await pause(10)
    }
  }

  async look(): Promise<void> {
    const lists = await Promise.all(
      this.#sessions.map(async ({ id, rootId }) => {
        return [rootId, ...(await this.#redis.lrange(sessionKeys(this.#tag, id).workers, 0, -1))]
      }),
    )
    await Promise.all(
      [...new Set(lists.flat())].map(async (id) => {
        const texts = await this.#redis.lrange(workerKeys(this.#tag, id).log, 0, -1)
        this.#compare(id, texts, Date.now())
      }),
    )
    this.looks++
  }

  #compare(id: string, texts: readonly string[], now: number): void {
    const before = this.#histories.get(id) ?? { texts: [], seenAt: [] }
    this.#histories.set(id, before)
    if (texts.length < before.texts.length) this.faults.push(`${id}: ${before.texts.length} became ${texts.length}`)
    for (const [position, text] of texts.entries()) {
      const known = before.texts[position]
      if (known === undefined) {
        before.texts.push(text)
        before.seenAt.push(now)
      } else if (known !== text) this.faults.push(`${id}: entry ${position} was ${known}, became ${text}`)
    }
  }
}
