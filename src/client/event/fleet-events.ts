/**
 * Duty: the stored events of all sessions of a namespace, for followers that look at everything: a page, a monitor.
 * FLEET-1 Each event behind the position that a follower names comes once, those of one partition in order.
 * FLEET-2 However many followers there are, this client reads each partition once per look; without followers it reads nothing.
 * FLEET-3 What waits for a slow follower is bounded, by number and by bytes: beyond that it reads the stream itself, when it comes to it.
 * FLEET-4 A follower goes on when there are more partitions: of the new ones it gets all events.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Rules, signalRule } from '../../core/check/check-options.ts'
import { InputError, RuntimeError } from '../../core/errors.ts'
import { isEventBefore, isEventId, type RawEvent, type TroupeEvent } from '../../core/event/event.ts'
import { type EventPage, newestEntry, readEvents } from '../../store/event/event-pages.ts'
import type { Place } from '../../store/keys.ts'
import { guarded } from '../../store/redis/guarded.ts'
import { clientClosed, type Redis } from '../../store/redis/redis.ts'
import { earlierPartitions } from '../../store/set-up/raise.ts'
import { orAborted } from '../or-aborted.ts'

export interface FleetQuery {
  /** The `position` of the last event that a follower got, or "0-0" for all that are kept. Without it, only later events come. */
  readonly after?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** An event, and where a follower of all sessions stands behind it. */
export interface FleetEvent {
  /** The event: [events](events.md). */
  readonly event: TroupeEvent
  /** Where the follower stands behind it: `after` of a later call. */
  readonly position: string
}

export const fleetRules: Rules<FleetQuery> = {
  after: {
    expects: 'the position of an event of all sessions, or "0-0" for all that are kept',
    fits: (value) => typeof value === 'string' && value.split(',').every(isEventId),
  },
  signal: signalRule,
}

/** How often it looks: so short that a person who watches sees no delay. */
const lookMs = 200
/** About how many events, and how many bytes of them, wait for a follower at most. */
const waitingMost = 1_000
const waitingBytesMost = 1_048_576

interface Follower {
  /** By partition, the id of the event behind which the follower stands. */
  readonly positions: string[]
  /** The partitions whose stream the follower must read itself. */
  readonly behind: Set<number>
  waiting: { readonly partition: number; readonly event: RawEvent }[]
  waitingBytes: number
  wake: () => void
}

export class FleetEvents {
  readonly #redisAt: (tag: string) => Redis
  readonly #places: readonly Place[]
  readonly #deadlineMs: number
  readonly #learn: () => Promise<void>
  readonly #followers = new Set<Follower>()
  /** By partition, the id up to which this client has read. */
  #readTo: string[] = []
  #isStopped = false
  #looking: Promise<void> | undefined

  /** `redisAt`: the connection to the server that holds the keys of this hash tag. `learn`: looks whether there are more places by now. */
  constructor(
    redisAt: (tag: string) => Redis,
    places: readonly Place[],
    deadlineMs: number,
    learn: () => Promise<void> = async () => {},
  ) {
    this.#learn = learn
    this.#redisAt = redisAt
    this.#places = places
    this.#deadlineMs = deadlineMs
  }

  /** Throws an InputError with the first event that is asked for if there is no such position. */
  follow({ after, signal }: FleetQuery): AsyncGenerator<FleetEvent, void, undefined> {
    return this.#follow(after, signal)
  }

  /** This position, or that of now. Throws an InputError if there is no such position. */
  async position(after: string | undefined): Promise<string> {
    const positions = after === undefined ? await this.#newest() : await this.#positionsOf(after)
    return positions.join(',')
  }

  async *#follow(
    after: string | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<FleetEvent, void, undefined> {
    if (this.#isStopped) throw clientClosed()
    const follower = await this.#join(after === undefined ? undefined : await this.#positionsOf(after))
    try {
      const isOver = () => this.#isStopped || signal?.aborted === true
      while (!isOver()) {
        const woken = new Promise<void>((resolve) => {
          follower.wake = resolve
        })
        follower.waitingBytes = 0
        for (const { partition, event } of follower.waiting.splice(0)) yield* step(follower, partition, [event])
        for (const partition of follower.behind) yield* this.#catchUp(follower, partition, signal)
        if (follower.waiting.length === 0 && follower.behind.size === 0) await orAborted(woken, signal)
      }
    } catch (error) {
      if (signal?.aborted !== true && !this.#isStopped) throw error
    } finally {
      this.#followers.delete(follower)
    }
  }

  /** Wakes all followers, which then end. A read that is under way ends with its connection: while Redis is away, its answer would take long. */
  stop(): void {
    this.#isStopped = true
    for (const { wake } of this.#followers) wake()
  }

  async #join(positions: string[] | undefined): Promise<Follower> {
    if (this.#looking === undefined) {
      const newest = await this.#newest()
      // Another look may have begun meanwhile, and waits for what comes after its own ids.
      if (this.#looking === undefined) this.#readTo = newest
    }
    const follower: Follower = {
      positions: positions ?? [...this.#readTo],
      behind: new Set(positions === undefined ? [] : this.#places.keys()),
      waiting: [],
      waitingBytes: 0,
      wake: () => {},
    }
    this.#followers.add(follower)
    this.#looking ??= this.#look()
    return follower
  }

  #newest(): Promise<string[]> {
    return Promise.all(this.#places.map(({ keys }) => newestEntry(this.#redisAt(keys.tag), keys, this.#deadlineMs)))
  }

  /** A position may be from before the number of partitions was raised: of the new ones all events are later. Or it is of a client that learned of it first. */
  async #positionsOf(after: string): Promise<string[]> {
    if (after === '0-0') return this.#places.map(() => after)
    const positions = after.split(',')
    if (positions.length > this.#places.length) await this.#learn()
    if (positions.length > this.#places.length) throw this.#notOurs(positions)
    if (positions.length === this.#places.length) return positions
    const [{ keys }] = this.#places as [Place]
    const read = () => earlierPartitions(this.#redisAt(keys.tag), keys.meta)
    const earlier = await guarded('reading earlier numbers of partitions', read, this.#deadlineMs)
    if (!earlier.some(({ partitions }) => partitions === positions.length)) throw this.#notOurs(positions)
    return this.#places.map((_, partition) => positions[partition] ?? '0-0')
  }

  #notOurs(positions: readonly string[]): InputError {
    return new InputError(
      `after of events names ${positions.length} partitions, and the namespace has ${this.#places.length}: it is the position of an event of another namespace.`,
    )
  }

  /** FLEET-2: reads for all followers while there are any. */
  async #look(): Promise<void> {
    while (this.#followers.size > 0 && !this.#isStopped) {
      this.#takeInNew()
      await Promise.all(this.#places.map((_, partition) => this.#read(partition)))
      await sleep(lookMs)
    }
    // Nothing may come between this and the last look at the followers: nobody would read for a follower that joins then.
    this.#looking = undefined
  }

  /** FLEET-4. */
  #takeInNew(): void {
    const all = [this.#readTo, ...[...this.#followers].map(({ positions }) => positions)]
    for (const positions of all) while (positions.length < this.#places.length) positions.push('0-0')
  }

  async #read(partition: number): Promise<void> {
    const { keys } = this.#places[partition] as Place
    let count: number | undefined
    for (let more = true; more && !this.#isStopped; ) {
      const from = this.#readTo[partition] as string
      // If Redis is away, the next look reads the same again.
      const page = await readEvents(this.#redisAt(keys.tag), keys, from, this.#deadlineMs, count).catch(() => undefined)
      if (page === undefined) return
      more = page.more
      count = page.nextCount
      this.#readTo[partition] = page.last
      if (page.events.length > 0 || page.trimmed) this.#tell(partition, page)
    }
  }

  #tell(partition: number, { events, bytes, trimmed }: Pick<EventPage, 'events' | 'bytes' | 'trimmed'>): void {
    for (const follower of this.#followers) {
      const isFull = follower.waiting.length > waitingMost || follower.waitingBytes > waitingBytesMost
      if (trimmed || isFull) follower.behind.add(partition)
      else if (!follower.behind.has(partition)) {
        for (const event of events) follower.waiting.push({ partition, event })
        follower.waitingBytes += bytes
      }
      follower.wake()
    }
  }

  /** Events of the partition that wait are dropped, because they come from its stream as well. */
  async *#catchUp(follower: Follower, partition: number, signal: AbortSignal | undefined): AsyncGenerator<FleetEvent> {
    const { keys } = this.#places[partition] as Place
    let count: number | undefined
    for (;;) {
      const from = follower.positions[partition] as string
      const readBefore = this.#readTo[partition] as string
      const page = await this.#pageOf(keys, from, signal, count)
      if (page === undefined) return
      count = page.nextCount
      if (page.trimmed) yield* step(follower, partition, [trimmed(from)])
      yield* step(follower, partition, page.events)
      follower.positions[partition] = page.last
      // Events that were read for all followers meanwhile were not kept for this one. But where Redis has lost its newest entries, no read gets that far.
      const readNow = this.#readTo[partition] as string
      if (page.more || (readNow !== readBefore && isEventBefore(page.last, readNow))) continue
      follower.behind.delete(partition)
      return
    }
  }

  async #pageOf(keys: Place['keys'], from: string, signal: AbortSignal | undefined, count: number | undefined) {
    try {
      return await orAborted(readEvents(this.#redisAt(keys.tag), keys, from, this.#deadlineMs, count), signal)
    } catch (error) {
      if (!(error instanceof RuntimeError && error.retryable)) throw error
      await sleep(lookMs)
      return undefined
    }
  }
}

function* step(follower: Follower, partition: number, events: readonly RawEvent[]): Generator<FleetEvent> {
  for (const event of events) {
    const seen = follower.positions[partition] as string
    if (event.type !== 'events.trimmed') {
      if (!isEventBefore(seen, event.id)) continue
      follower.positions[partition] = event.id
    }
    // Whoever writes an event must fit its type, so readers do not check it again.
    yield { event: event as TroupeEvent, position: follower.positions.join(',') }
  }
}

/** Stands for events that are no longer kept; it belongs to no session. */
function trimmed(after: string): RawEvent {
  return { id: after, type: 'events.trimmed', sessionId: '', workerId: '', at: Date.now(), details: { after } }
}
