/**
 * Duty: hand the events of each session to its listeners in this client.
 * Owns: one event tail for each partition, opened for the first listener; and one connection for transient events, opened for the first listener
 * who wants them. Does not own: the order of past and live events for one follower (session-events.ts).
 * HUB-1 It remembers how a session ended if this client created it while a tail was listening: then `result()` needs no read.
 */
import type { Ended, RawEvent } from '../../core/event/event.ts'
import { endIn, mayEndRun, saysRetried, sessionIn } from '../../core/event/event-notes.ts'
import { partitionOf, rootIdOf } from '../../core/ids.ts'
import { EventTail } from '../../store/event/event-tail.ts'
import { announceFollower } from '../../store/event/followed-sessions.ts'
import { type LiveListener, LiveTail } from '../../store/event/live-channel.ts'
import { partitionKeys, tagOf } from '../../store/keys.ts'
import { clientClosed, type Redis, withDeadline } from '../../store/redis/redis.ts'
import { type EventEntry, eventsOf } from '../../store/script/replies.ts'

/** Gets each event. `events.trimmed`: later events may be lost. `null`: the client was closed, and no event follows. Must not throw. */
type Listener = (event: RawEvent | null) => void

/** What this client wants to know of one session. */
interface Watched {
  /** undefined: its end is not remembered. null: it has not ended. */
  ended: Ended | null | undefined
  listeners: Listener[]
  wakers: (() => void)[]
}

/** So many ends are remembered. The oldest is forgotten first; then the end is read from the record. */
const trackedMax = 10_000
/** A blocking read never ends while Redis is away. `stop` waits no longer than this for it. */
const stopMsMax = 1_000
/** No follower waits longer than this for a subscription, because transient events may be missed. */
const subscribeMsMax = 1_000

export class EventHub {
  readonly #namespace: string
  readonly #open: () => Redis
  readonly #deadlineMs: number
  readonly #tails = new Map<number, Promise<EventTail>>()
  /** Tails with a connection, including those that do not listen yet. */
  readonly #connected = new Set<EventTail>()
  /** Partitions whose tail listens. */
  readonly #listening = new Set<number>()
  readonly #watched = new Map<string, Watched>()
  /** How many of them have an end that is remembered. */
  #trackedCount = 0
  readonly #live: LiveTail
  #isStopped = false

  /**
   * `open` returns a new connection, because a tail blocks its own. `deadlineMs`: how long a tail may take until it listens. `commands`: the
   * connection over which nodes learn that somebody follows; without it they never do.
   */
  constructor(namespace: string, open: () => Redis, deadlineMs: number, commands?: Redis) {
    this.#namespace = namespace
    this.#open = open
    this.#deadlineMs = deadlineMs
    this.#live = new LiveTail(open, namespace, async (sessionId, isNew) =>
      commands ? announceFollower(commands, namespace, sessionId, isNew) : true,
    )
  }

  /** The client was closed: no listener gets an event any more. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Calls the listener for each event of the session from now on. Resolves, once it listens, with the id of the event before them. */
  async listen(sessionId: string, listener: Listener): Promise<string> {
    const tail = await this.#tail(partitionOf(sessionId))
    this.#watch(sessionId).listeners.push(listener)
    return tail.last
  }

  unlisten(sessionId: string, listener: Listener): void {
    const watched = this.#watched.get(sessionId)
    if (watched === undefined) return
    watched.listeners = watched.listeners.filter((one) => one !== listener)
    this.#dropIfIdle(sessionId, watched)
  }

  /** Calls back when a run of the session may have ended, or when the client is closed. Resolves once it listens. */
  async wakeAtEnds(sessionId: string, wake: () => void): Promise<void> {
    const partition = partitionOf(sessionId)
    if (!this.#listening.has(partition)) await this.#tail(partition)
    this.#watch(sessionId).wakers.push(wake)
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

  /** Tells the nodes of the session that somebody follows: they publish only then. What goes on now comes first. */
  announceLive(sessionId: string): void {
    if (!this.#isStopped) this.#live.announce(sessionId)
  }

  unlistenLive(sessionId: string, listener: LiveListener): void {
    this.#live.unlisten(sessionId, listener)
  }

  /** Remembers the end of a session that is about to be created, if the tail listens: else the session might end before the tail does. */
  track(sessionId: string): void {
    if (!this.#listening.has(partitionOf(sessionId))) return
    const watched = this.#watch(sessionId)
    this.#trackedCount++
    watched.ended = null
    while (this.#trackedCount > trackedMax) this.#forgetOldest()
  }

  // A session with listeners stays, behind all others.
  #forgetOldest(): void {
    for (const [sessionId, watched] of this.#watched) {
      this.#watched.delete(sessionId)
      this.#watched.set(sessionId, watched)
      this.forget(sessionId)
      return
    }
  }

  /** undefined: its end is not remembered. null: it has not ended. */
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
      watched = { ended: undefined, listeners: [], wakers: [] }
      this.#watched.set(sessionId, watched)
    }
    return watched
  }

  #dropIfIdle(sessionId: string, { ended, listeners, wakers }: Watched): void {
    if (ended === undefined && listeners.length === 0 && wakers.length === 0) this.#watched.delete(sessionId)
  }

  async #tail(partition: number): Promise<EventTail> {
    if (this.#isStopped) throw clientClosed()
    let opening = this.#tails.get(partition)
    if (opening === undefined) {
      opening = this.#openTail(partition)
      this.#tails.set(partition, opening)
      opening.catch(() => this.#tails.delete(partition))
    }
    return opening
  }

  async #openTail(partition: number): Promise<EventTail> {
    const keys = partitionKeys(tagOf(this.#namespace, partition))
    const onTrimmed = (after: string) => this.#tellTrimmed(partition, after)
    const tail = new EventTail(this.#open(), keys, this.#deadlineMs, onTrimmed)
    this.#connected.add(tail)
    try {
      await tail.listen((entry) => this.#tell(entry))
    } catch (error) {
      // The next listener opens another tail. This one would try to connect for ever, and nobody would listen to it.
      this.#connected.delete(tail)
      await tail.stop()
      throw error
    }
    this.#listening.add(partition)
    return tail
  }

  #tell(entry: EventEntry): void {
    const { about, notes } = entry
    const watched = this.#watched.get(sessionIn(about))
    if (watched === undefined) return
    // This comes first: waiters read the record even if the notes cannot be decoded.
    if (mayEndRun(notes)) for (const wake of watched.wakers) wake()
    if (watched.ended === null) watched.ended = endIn(notes)
    else if (watched.ended?.status === 'failed' && saysRetried(notes)) watched.ended = null
    if (watched.listeners.length === 0) return
    for (const event of eventsOf(entry)) for (const tell of watched.listeners) tell(event)
  }

  /** Ends may be among the lost events, so waiters read the records. */
  #tellTrimmed(partition: number, after: string): void {
    for (const [sessionId, watched] of this.#watched) {
      if (partitionOf(sessionId) !== partition) continue
      if (watched.ended === null) this.forget(sessionId)
      for (const wake of watched.wakers) wake()
      for (const tell of watched.listeners) tell(trimmedEvent(sessionId, after))
    }
  }

  /** Tells each listener that no event follows. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const { listeners, wakers } of this.#watched.values()) {
      for (const wake of wakers) wake()
      for (const tell of listeners) tell(null)
    }
    this.#live.stop()
    const stopping = Promise.all([...this.#connected].map((tail) => tail.stop()))
    await Promise.race([stopping, new Promise((resolve) => setTimeout(resolve, stopMsMax).unref())])
  }
}

/** Stands for events that are no longer kept. The report and the histories have the same facts. */
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
