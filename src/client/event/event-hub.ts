/**
 * Duty: hand the events of each session to its listeners in this client, and its ends to those who wait for them.
 * Owns: which sessions this client listens to; one connection for their events and one for transient notes, each opened for the first listener who
 * wants it. Does not own: what was lost on the way (partition-feed.ts), the order of past and live events for one follower (session-events.ts).
 * HUB-1 It remembers how a session ends that this client creates, if it listens before that: then `result()` needs no read.
 */
import { setImmediate } from 'node:timers/promises'
import { type Ended, isEventBefore, type RawEvent, streamIdOf } from '../../core/event/event.ts'
import { endIn, mayEndRun, saysRetried, sessionIn } from '../../core/event/event-notes.ts'
import { creatorOf, partitionOf, rootIdOf } from '../../core/ids.ts'
import { EventChannels, type Subject } from '../../store/event/event-channels.ts'
import { announceFollower } from '../../store/event/followed-sessions.ts'
import { type LiveListener, LiveTail } from '../../store/event/live-channel.ts'
import { partitionKeys, sessionChannels, tagOf } from '../../store/keys.ts'
import { clientClosed, type Redis, withDeadline } from '../../store/redis/redis.ts'
import { type EventEntry, eventsOf } from '../../store/script/replies.ts'
import { PartitionFeed, type Report } from './partition-feed.ts'

/**
 * Gets each event, and about how many bytes the event has. `events.trimmed`: later events may be lost. `null`: the client was closed, and no event
 * follows. Must not throw.
 */
export type Listener = (event: RawEvent | null, bytes?: number) => void

/** What this client wants to know of one session. */
interface Watched {
  /** undefined: the end is not remembered. null: the session has not ended. */
  ended: Ended | null | undefined
  /** The place of the newest event that listeners here got: `<stream id>.<part>`, or a stream id, behind all of its parts. */
  last: string
  listeners: Listener[]
  wakers: (() => void)[]
}

export interface EventHubOptions {
  readonly namespace: string
  /** This client in the ids of the jobs that it creates; absent: it creates none. */
  readonly creator?: string | undefined
  /** Opens a new connection to the server that has the keys with this tag; the connection then only subscribes. */
  readonly open: (tag: string) => Redis
  /** How long a subscription may take. */
  readonly deadlineMs: number
  /** A connection for reads, and to tell nodes that somebody follows. The caller closes it. In a cluster partitions have connections of their own. */
  readonly commands: (tag: string) => Redis
  /** How often it looks for events that were lost. */
  readonly lookMs?: number
}

/** How many ends are remembered. The oldest is forgotten first; then the end is read from the record. */
const trackedMax = 10_000
/** How long anybody waits for a subscription; without one, an event may be missed that can be read later. */
const subscribeMsMax = 1_000
const lookMs = 10_000

export class EventHub {
  readonly #o: EventHubOptions
  /** The channels, by the connection for commands: partitions that share that connection share one to listen on. */
  readonly #channels = new Map<Redis, EventChannels>()
  readonly #feeds = new Map<number, PartitionFeed>()
  /** The partitions whose events do not arrive: the Redis user may not subscribe. */
  readonly #deaf = new Set<number>()
  readonly #watched = new Map<string, Watched>()
  /** How many sessions are watched for their end. */
  #trackedCount = 0
  readonly #live: LiveTail
  #looking: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: EventHubOptions) {
    this.#o = options
    const { namespace, open, commands } = options
    // Any server of a cluster passes on what is published at any other one.
    const openAny = () => open(tagOf(namespace, 0))
    this.#live = new LiveTail(openAny, namespace, async (sessionId, isNew) =>
      announceFollower(commands(this.#tagOf(sessionId)), namespace, sessionId, isNew),
    )
  }

  #tagOf(sessionId: string): string {
    return tagOf(this.#o.namespace, partitionOf(sessionId))
  }

  #channelsOf(sessionId: string): EventChannels {
    return this.#channelsAt(this.#tagOf(sessionId))
  }

  #channelsAt(tag: string): EventChannels {
    const { open, deadlineMs, commands } = this.#o
    const redis = commands(tag)
    let channels = this.#channels.get(redis)
    if (channels === undefined) {
      channels = new EventChannels({
        open: () => open(tag),
        deadlineMs,
        channelOf: (sessionId, subject) => sessionChannels(this.#tagOf(sessionId), sessionId)[subject],
        onEvents: (sessionId, id, entries) => this.#feed(partitionOf(sessionId)).receive({ id, entries }),
        onEnd: (sessionId, notes) => this.#tellEnd(sessionId, notes),
        onGap: () => this.#fillGap(),
      })
      this.#channels.set(redis, channels)
    }
    return channels
  }

  /** The client was closed: no listener gets an event any more. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Calls the listener for each event of the session from now on. Resolves, once it listens, with the id of the event before them. */
  async listen(sessionId: string, listener: Listener): Promise<string> {
    if (this.#isStopped) throw clientClosed()
    const watched = this.#watch(sessionId)
    watched.listeners.push(listener)
    try {
      const hears = await this.#channelsOf(sessionId).listen(sessionId, 'events')
      if (!hears) this.#deaf.add(partitionOf(sessionId))
      if (watched.last === '') {
        const newest = await this.#feed(partitionOf(sessionId)).begin()
        // An event may have come while the newest id was asked for.
        if (watched.last === '') watched.last = newest
      }
    } catch (error) {
      this.unlisten(sessionId, listener)
      throw error
    }
    this.#looking ??= setInterval(() => this.#look(), this.#o.lookMs ?? lookMs).unref()
    return streamIdOf(watched.last)
  }

  unlisten(sessionId: string, listener: Listener): void {
    const watched = this.#watched.get(sessionId)
    if (watched === undefined) return
    watched.listeners = watched.listeners.filter((one) => one !== listener)
    if (watched.listeners.length === 0) {
      watched.last = ''
      this.#channelsOf(sessionId).unlisten(sessionId, 'events')
    }
    this.#dropIfIdle(sessionId, watched)
  }

  /** Calls back when a run of the session may have ended, or when the client is closed. Resolves once it listens. */
  async wakeAtEnds(sessionId: string, wake: () => void): Promise<void> {
    // A client that was closed still knows the ends that it has learnt.
    if (this.#isStopped && !this.#channelsOf(sessionId).isOpen) throw clientClosed()
    const watched = this.#watch(sessionId)
    watched.wakers.push(wake)
    try {
      if (!this.#isStopped && !isFinal(watched.ended))
        await this.#channelsOf(sessionId).listen(sessionId, this.#endsOf(sessionId))
    } catch (error) {
      this.stopWaking(sessionId, wake)
      throw error
    }
  }

  stopWaking(sessionId: string, wake: () => void): void {
    const watched = this.#watched.get(sessionId)
    if (watched === undefined) return
    watched.wakers = watched.wakers.filter((one) => one !== wake)
    this.#dropIfIdle(sessionId, watched)
  }

  /** Calls the listener for transient events. Resolves once it listens, or after a while. */
  async listenLive(sessionId: string, listener: LiveListener): Promise<void> {
    if (this.#isStopped) return
    // Without a subscription (no right to it, or Redis is away) the follower still gets the stored events.
    await withDeadline(this.#live.listen(sessionId, listener), subscribeMsMax).catch(() => {})
  }

  /** Tells the nodes of the session that somebody follows: they publish only then. They publish what their turns do now first. */
  announceLive(sessionId: string): void {
    if (!this.#isStopped) this.#live.announce(sessionId)
  }

  unlistenLive(sessionId: string, listener: LiveListener): void {
    this.#live.unlisten(sessionId, listener)
  }

  /**
   * Remembers how a session ends that is about to be created. If there is a promise, the caller waits for it, and creates the session then: no event is
   * missed. A client that never waited for anything, or whose connection is lost, does not begin to remember.
   */
  track(sessionId: string): Promise<void> | undefined {
    const channels = this.#channelsOf(sessionId)
    if (this.#isStopped || !channels.isReady) return undefined
    const watched = this.#watch(sessionId)
    if (watched.ended !== undefined) return undefined
    this.#trackedCount++
    watched.ended = null
    while (this.#trackedCount > trackedMax) this.#forgetOldest()
    return channels.hears(sessionId, this.#endsOf(sessionId)) ? undefined : this.#listenToEnd(sessionId)
  }

  /** All jobs that this client created have one channel for their ends. */
  #endsOf(sessionId: string): Subject {
    return creatorOf(sessionId) === this.#o.creator ? 'created' : 'ends'
  }

  async #listenToEnd(sessionId: string): Promise<void> {
    const listening = this.#channelsOf(sessionId).listen(sessionId, this.#endsOf(sessionId))
    const listens = await withDeadline(listening, subscribeMsMax).catch(() => false)
    if (!listens) this.forget(sessionId)
  }

  // A session with listeners is not forgotten, and moves behind all others.
  #forgetOldest(): void {
    for (const [sessionId, watched] of this.#watched) {
      this.#watched.delete(sessionId)
      this.#watched.set(sessionId, watched)
      this.forget(sessionId)
      return
    }
  }

  /** undefined: the end is not remembered. null: the session has not ended. */
  ended(sessionId: string): Ended | null | undefined {
    return this.#watched.get(sessionId)?.ended
  }

  /** The caller has the end now, or will read it from the record. */
  forget(sessionId: string): void {
    const watched = this.#watched.get(sessionId)
    if (watched === undefined) return
    if (watched.ended !== undefined) this.#trackedCount--
    watched.ended = undefined
    this.#dropIfIdle(sessionId, watched)
  }

  #watch(sessionId: string): Watched {
    let watched = this.#watched.get(sessionId)
    if (watched === undefined) {
      watched = { ended: undefined, last: '', listeners: [], wakers: [] }
      this.#watched.set(sessionId, watched)
    }
    return watched
  }

  #dropIfIdle(sessionId: string, { ended, listeners, wakers }: Watched): void {
    if (ended !== undefined || wakers.length > 0) return
    this.#leaveEnds(sessionId)
    if (listeners.length === 0) this.#watched.delete(sessionId)
  }

  #feed(partition: number): PartitionFeed {
    let feed = this.#feeds.get(partition)
    if (feed === undefined) {
      const { namespace, commands, deadlineMs } = this.#o
      const tag = tagOf(namespace, partition)
      feed = new PartitionFeed({
        redis: commands(tag),
        keys: partitionKeys(tag),
        deadlineMs,
        isNew: (entry) => this.#isMissed(entry),
        tell: (report) => this.#tell(report),
        onTrimmed: (after) => this.#tellTrimmed(partition, after),
        settled: () => this.#channelsAt(tag).settled(),
      })
      this.#feeds.set(partition, feed)
    }
    return feed
  }

  /** True for an event that a listener should have got and did not get. */
  #isMissed({ about, id, part }: EventEntry): boolean {
    const watched = this.#watched.get(sessionIn(about))
    return watched !== undefined && watched.listeners.length > 0 && isEventBefore(watched.last, `${id}.${part}`)
  }

  #tell({ entries }: Report): void {
    for (const entry of entries) this.#tellEntry(entry)
  }

  #leaveEnds(sessionId: string): void {
    if (this.#endsOf(sessionId) === 'ends') this.#channelsOf(sessionId).unlisten(sessionId, 'ends')
  }

  #tellEnd(sessionId: string, notes: string): void {
    const watched = this.#watched.get(sessionId)
    if (watched === undefined) return
    // This comes first: callers that wait for an end read the record even if the notes cannot be decoded.
    if (mayEndRun(notes)) for (const wake of watched.wakers) wake()
    if (watched.ended === null) watched.ended = endOrNull(notes)
    else if (watched.ended?.status === 'failed' && saysRetried(notes)) watched.ended = null
    // The end stays here until somebody asks for it, which may be never.
    if (isFinal(watched.ended)) this.#leaveEnds(sessionId)
  }

  #tellEntry(entry: EventEntry): void {
    const { about, notes, id, part } = entry
    const watched = this.#watched.get(sessionIn(about))
    const position = `${id}.${part}`
    if (watched === undefined || watched.listeners.length === 0) return
    if (watched.last !== '' && !isEventBefore(watched.last, position)) return
    watched.last = position
    const events = eventsOf(entry)
    const bytes = notes.length / Math.max(1, events.length)
    for (const event of events) for (const tell of watched.listeners) tell(event, bytes)
  }

  /** Messages were lost, and one may have said that a failed session goes on. Callers that wait for an end read the record, and followers get what was added since. */
  #fillGap(): void {
    for (const [sessionId, watched] of this.#watched) {
      if (!isFinal(watched.ended)) this.forget(sessionId)
      for (const wake of watched.wakers) wake()
    }
    for (const feed of this.#followedFeeds()) void feed.fill()
  }

  #followedFeeds(): PartitionFeed[] {
    const partitions = new Set<number>()
    for (const [sessionId, { listeners }] of this.#watched)
      if (listeners.length > 0) partitions.add(partitionOf(sessionId))
    return [...partitions].map((partition) => this.#feed(partition))
  }

  #look(): void {
    const followed = this.#followedFeeds()
    for (const [partition, feed] of this.#feeds) {
      if (!followed.includes(feed)) feed.rest()
      else if (this.#deaf.has(partition)) void feed.fill()
      else feed.look().catch(() => {})
    }
    if (followed.length > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
  }

  /** Tells followers that some events may be lost for good. */
  #tellTrimmed(partition: number, after: string): void {
    for (const [sessionId, { listeners }] of this.#watched) {
      if (partitionOf(sessionId) !== partition) continue
      for (const tell of listeners) tell(trimmedEvent(sessionId, after))
    }
  }

  /** Tells each listener that no event follows. Resolves when everyone who waited knows it. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#looking)
    for (const feed of this.#feeds.values()) feed.stop()
    for (const { listeners, wakers } of this.#watched.values()) {
      for (const wake of wakers) wake()
      for (const tell of listeners) tell(null)
    }
    this.#live.stop()
    for (const channels of this.#channels.values()) channels.stop()
    await setImmediate()
  }
}

/** null as well for notes that cannot be decoded: anybody may write to a channel. */
function endOrNull(notes: string): Ended | null {
  try {
    return endIn(notes)
  } catch {
    return null
  }
}

/** A session that failed may be retried, and then end in another way. */
function isFinal(ended: Ended | null | undefined): boolean {
  return ended?.status === 'completed' || ended?.status === 'cancelled'
}

/** Stands for events that are no longer kept. A follower finds the same facts in the report and the histories. */
export function trimmedEvent(sessionId: string, after: string): RawEvent {
  return {
    id: after,
    type: 'events.trimmed',
    sessionId,
    workerId: rootIdOf(sessionId),
    at: Date.now(),
    details: { after },
  }
}
