/**
 * Duty: follows the event stream of one partition for one listener, over a connection of its own; and reads past events.
 * TAIL-1 A follower that names an id gets all later events, without gap and without duplicate. If some were trimmed, it gets
 *    `events.trimmed` in their place. The same holds for a live follower that lags because its connection was lost or its process stood still.
 * TAIL-2 Nothing depends on events for correctness: code that waits for a state reads the record too.
 */
import { isEventBefore, type RawEvent, streamIdOf } from '../../core/event/event.ts'
import type { PartitionKeys } from '../keys.ts'
import { guarded } from '../redis/guarded.ts'
import { closeRedis, type Redis } from '../redis/redis.ts'
import { type EventEntry, eventsOf, toEventEntries } from '../script/replies.ts'

/** Not decoded: most are of sessions that nobody here follows. */
export type EventListener = (entry: EventEntry) => void

/** Called before the next entry: entries after this id may have been trimmed before they could be read. */
export type TrimListener = (after: string) => void

const blockMs = 5_000
const pageSize = 500

export class EventTail {
  readonly #redis: Redis
  readonly #keys: PartitionKeys
  readonly #deadlineMs: number
  readonly #onTrimmed: TrimListener
  #reading: Promise<void> | undefined
  #last = '0-0'
  /** Much may have been added since the last answer. */
  #lags = false
  #stopped = false

  /** `redis` is a connection that only this tail uses: it blocks. `deadlineMs`: how long it may take to begin. */
  constructor(redis: Redis, keys: PartitionKeys, deadlineMs: number, onTrimmed: TrimListener = () => {}) {
    this.#redis = redis
    this.#keys = keys
    this.#deadlineMs = deadlineMs
    this.#onTrimmed = onTrimmed
    redis.on('close', () => {
      this.#lags = true
    })
  }

  /** The id of the entry that was told last, or after which it began to listen. */
  get last(): string {
    return this.#last
  }

  /** Calls back for each entry from now on; resolves with the id after which it listens. To be called once. */
  async listen(listener: EventListener): Promise<string> {
    const read = () => this.#redis.xrevrange(this.#keys.events, '+', '-', 'COUNT', 1)
    const newest = await guarded('listening to events', read, this.#deadlineMs)
    this.#last = newest[0]?.[0] ?? '0-0'
    this.#reading = this.#read(listener)
    return this.#last
  }

  async #read(listener: EventListener): Promise<void> {
    while (!this.#stopped) {
      try {
        const reply = await this.#redis.xread(
          'COUNT',
          pageSize,
          'BLOCK',
          blockMs,
          'STREAMS',
          this.#keys.events,
          this.#last,
        )
        const entries = reply?.[0]?.[1] ?? []
        if (entries.length === 0) continue
        const lagged = this.#lags
        this.#lags = entries.length === pageSize
        if (lagged && !(await this.#isKept())) this.#onTrimmed(this.#last)
        for (const entry of toEventEntries(entries)) {
          this.#last = entry.id
          tell(listener, entry)
        }
      } catch {
        // A lost connection: ioredis reconnects, and reading goes on after the last id that was seen.
        this.#lags = true
        if (!this.#stopped) await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }

  /** Oldest entries are trimmed first: while the last one that was told is there, all after it are. */
  async #isKept(): Promise<boolean> {
    const { events } = this.#keys
    if (this.#last === '0-0') return !(await wasTrimmed(this.#redis, this.#keys))
    return (await this.#redis.xrange(events, this.#last, this.#last)).length > 0
  }

  async stop(): Promise<void> {
    this.#stopped = true
    closeRedis(this.#redis)
    await this.#reading
  }
}

/** What cannot be told must not keep what comes after it. */
function tell(listener: EventListener, entry: EventEntry): void {
  try {
    listener(entry)
  } catch {}
}

interface EventPage {
  readonly events: RawEvent[]
  readonly last: string
  readonly more: boolean
  readonly trimmed: boolean
}

/** A page of past events after the event `after`; `trimmed` when events after it are gone. Uses a connection that does not block. */
export async function readEvents(
  redis: Redis,
  keys: PartitionKeys,
  after: string,
  deadlineMs: number,
): Promise<EventPage> {
  return guarded('reading events', () => readPage(redis, keys, after), deadlineMs)
}

async function readPage(redis: Redis, keys: PartitionKeys, after: string): Promise<EventPage> {
  const from = streamIdOf(after)
  const entries = await redis.xrange(keys.events, from, '+', 'COUNT', pageSize)
  const first = await redis.xrange(keys.events, '-', '+', 'COUNT', 1)
  const oldest = first[0]?.[0]
  return {
    events: toEventEntries(entries)
      .flatMap(eventsOf)
      .filter(({ id }) => isEventBefore(after, id)),
    last: entries.at(-1)?.[0] ?? from,
    more: entries.length === pageSize,
    trimmed: oldest !== undefined && isEventBefore(from, oldest) && (await wasTrimmed(redis, keys)),
  }
}

/**
 * Has the stream ever lost entries? Redis before 7.0 cannot tell, nor can a later one of what was taken while it was older: there the sweeps
 * say whether they took some.
 */
async function wasTrimmed(redis: Redis, keys: PartitionKeys): Promise<boolean> {
  const facts = (await redis.xinfo('STREAM', keys.events)) as unknown[]
  const fact = (name: string) => (facts.includes(name) ? Number(facts[facts.indexOf(name) + 1]) : 0)
  return fact('entries-added') > fact('length') || (await redis.hexists(keys.meta, 'trimmed')) === 1
}
