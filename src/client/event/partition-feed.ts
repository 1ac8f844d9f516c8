/**
 * Duty: make good what was lost of the events of one partition, for everybody in this process who follows sessions of it.
 * FEED-1 After a gap (a lost connection) it reads what was added since, once for all of them, and reports it in the order of the stream.
 *    Messages that arrive meanwhile wait for that.
 * FEED-2 It looks at the newest entries now and then. If an entry of a followed session did not arrive, it reads like after a gap. A look reads
 * `lookMost` entries at most, so in a busy partition it may miss one whose message alone was lost. Where no message arrives, nobody looks: the
 * gap is filled each time.
 */
import { isEventBefore } from '../../core/event/event.ts'
import { newestEntries, newestEntry, readEntries } from '../../store/event/event-pages.ts'
import type { PartitionKeys } from '../../store/keys.ts'
import type { Redis } from '../../store/redis/redis.ts'
import type { EventEntry } from '../../store/script/replies.ts'

const lookMost = 200
/** How many messages wait for a gap to be filled. Further ones are dropped, and read from the stream. */
const heldMost = 1_000
const retryMs = 100

/** What one script reported of one session. */
export interface Report {
  readonly id: string
  readonly entries: readonly EventEntry[]
}

export interface PartitionFeedOptions {
  readonly redis: Redis
  readonly keys: PartitionKeys
  readonly deadlineMs: number
  /** Does an entry of this id hold something that was not reported before? */
  readonly isNew: (entry: EventEntry) => boolean
  readonly tell: (report: Report) => void
  /** Called if entries after this one were trimmed. */
  readonly onTrimmed: (after: string) => void
  /** Resolves once everything has arrived that was published before. */
  readonly settled: () => Promise<void>
}

export class PartitionFeed {
  readonly #o: PartitionFeedOptions
  /** The id of the entry up to which nothing is missing. */
  #position: string | undefined
  #filling = false
  #held: Report[] = []
  #again = false
  #stopped = false

  constructor(options: PartitionFeedOptions) {
    this.#o = options
  }

  /** Returns the id of the newest entry, for somebody who begins to follow. */
  async begin(): Promise<string> {
    const newest = await newestEntry(this.#o.redis, this.#o.keys, this.#o.deadlineMs)
    this.#position ??= newest
    // There was a gap while it asked.
    if (this.#again) void this.fill()
    return newest
  }

  receive(report: Report): void {
    if (!this.#filling) this.#o.tell(report)
    else if (this.#held.length < heldMost) this.#held.push(report)
    else {
      this.#held = []
      this.#again = true
    }
  }

  /** Fills a gap (FEED-1). Never rejects. */
  async fill(): Promise<void> {
    this.#again = true
    if (this.#filling || this.#position === undefined) return
    this.#filling = true
    while (this.#again && !this.#stopped) {
      this.#again = false
      await this.#readOn().catch(async () => {
        this.#again = true
        await new Promise((resolve) => setTimeout(resolve, retryMs).unref())
      })
    }
    this.#filling = false
    for (const report of this.#held.splice(0)) this.#o.tell(report)
  }

  async #readOn(): Promise<void> {
    const { redis, keys, deadlineMs, tell, onTrimmed } = this.#o
    let count: number | undefined
    for (let more = true; more && !this.#stopped; ) {
      const page = await readEntries(redis, keys, this.#position as string, deadlineMs, count)
      if (page.trimmed) onTrimmed(this.#position as string)
      for (const entry of page.entries) tell({ id: entry.id, entries: [entry] })
      this.#position = page.last
      more = page.more
      count = page.nextCount
    }
  }

  /** Looks at the newest entries (FEED-2). Rejects while Redis is away: then there will be a gap soon. */
  async look(): Promise<void> {
    const { redis, keys, deadlineMs, isNew, settled } = this.#o
    if (this.#filling || this.#position === undefined) return
    const newest = await newestEntries(redis, keys, this.#position, lookMost, deadlineMs)
    const first = newest[0]
    if (first === undefined) return
    await settled()
    if (newest.some(isNew)) return this.fill()
    if (!this.#filling && isEventBefore(this.#position, first.id)) this.#position = first.id
  }

  /** Called when nobody follows for now: the next follower begins at the newest entry. */
  rest(): void {
    if (!this.#filling) this.#position = undefined
  }

  stop(): void {
    this.#stopped = true
  }
}
