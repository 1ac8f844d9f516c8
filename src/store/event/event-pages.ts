/**
 * Duty: reads the event stream of a partition, page by page.
 * EVENT-PAGES-1 A reader that goes on from an event gets all later events, without gap and without duplicate, or is told that some of them were trimmed.
 * EVENT-PAGES-2 Nothing depends on events for correctness: code that waits for a state reads the record too.
 * EVENT-PAGES-3 A page has about `pageBytes`: a slow reader keeps no more than that in memory, whatever the events hold.
 */
import { isEventBefore, type RawEvent, streamIdOf } from '../../core/event/event.ts'
import type { PartitionKeys } from '../keys.ts'
import { guarded } from '../redis/guarded.ts'
import type { Redis } from '../redis/redis.ts'
import { type EventEntry, eventsOf, toEventEntries } from '../script/replies.ts'

const pageMost = 500
const pageBytes = 1_048_576
/** Nobody knows yet how long the entries of a stream are. */
const firstPage = 100

interface EntryPage {
  readonly entries: EventEntry[]
  /** The id of the last entry of the page; of an empty page, the id after which it was read. */
  readonly last: string
  readonly more: boolean
  /** True if entries after that id were trimmed. */
  readonly trimmed: boolean
  /** About how many bytes the page has, as text. */
  readonly bytes: number
  /** How many entries the next page should have. */
  readonly nextCount: number
}

export interface EventPage extends Omit<EntryPage, 'entries'> {
  readonly events: RawEvent[]
}

/** A page of entries from this one on. Not decoded: most are of sessions that nobody here follows. */
export async function readEntries(
  redis: Redis,
  { events, meta }: PartitionKeys,
  from: string,
  deadlineMs: number,
  count = firstPage,
): Promise<EntryPage> {
  const read = async (): Promise<EntryPage> => {
    const entries = await redis.xrange(events, from, '+', 'COUNT', count)
    const first = await redis.xrange(events, '-', '+', 'COUNT', 1)
    const oldest = first[0]?.[0]
    const bytes = entries.reduce((total, [, flat]) => total + flat.reduce((sum, { length }) => sum + length, 0), 0)
    return {
      entries: toEventEntries(entries),
      last: entries.at(-1)?.[0] ?? from,
      more: entries.length === count,
      trimmed: oldest !== undefined && isEventBefore(from, oldest) && (await wasTrimmed(redis, events, meta)),
      bytes,
      nextCount: nextCount(entries.length, bytes),
    }
  }
  return guarded('reading events', read, deadlineMs)
}

function nextCount(count: number, bytes: number): number {
  if (count === 0) return firstPage
  return Math.min(pageMost, Math.max(2, Math.floor(pageBytes / (bytes / count + 1))))
}

/** A page of events after the event `after`. Uses a connection that does not block. */
export async function readEvents(
  redis: Redis,
  keys: PartitionKeys,
  after: string,
  deadlineMs: number,
  count?: number,
): Promise<EventPage> {
  const { entries, ...page } = await readEntries(redis, keys, streamIdOf(after), deadlineMs, count)
  return { ...page, events: entries.flatMap(eventsOf).filter(({ id }) => isEventBefore(after, id)) }
}

/** The id of the newest entry. */
export async function newestEntry(redis: Redis, { events }: PartitionKeys, deadlineMs: number): Promise<string> {
  const read = () => redis.xrevrange(events, '+', '-', 'COUNT', 1)
  const newest = await guarded('listening to events', read, deadlineMs)
  return newest[0]?.[0] ?? '0-0'
}

/** The newest entries behind this one, so many at most. The newest is the first. */
export async function newestEntries(
  redis: Redis,
  { events }: PartitionKeys,
  after: string,
  most: number,
  deadlineMs: number,
): Promise<EventEntry[]> {
  const read = () => redis.xrevrange(events, '+', `(${after}`, 'COUNT', most)
  return toEventEntries(await guarded('reading events', read, deadlineMs))
}

/**
 * Has the stream ever lost entries? Redis before 7.0 cannot tell, and a later one knows nothing of what was trimmed before its upgrade: there the
 * sweeps record whether they trimmed entries.
 */
async function wasTrimmed(redis: Redis, events: string, meta: string): Promise<boolean> {
  const facts = (await redis.xinfo('STREAM', events)) as unknown[]
  const fact = (name: string) => (facts.includes(name) ? Number(facts[facts.indexOf(name) + 1]) : 0)
  return fact('entries-added') > fact('length') || (await redis.hexists(meta, 'trimmed')) === 1
}
