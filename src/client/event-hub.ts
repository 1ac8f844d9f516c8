/**
 * Duty: hands the events of each session to those who wait for that session, from one tail per partition that is opened when the
 * first one asks. It also remembers how sessions ended that this client created while it was listening, so that a later
 * `result()` needs no read at all. What is told to who listens now and never stored comes from one more connection, which only
 * those open who ask for it.
 */
import type { Ended, RawEvent } from '../core/event/event.ts'
import { endIn, mayEndRun, sessionIn } from '../core/event/event-notes.ts'
import { partitionOf, rootIdOf } from '../core/ids.ts'
import { EventTail } from '../store/event-tail.ts'
import { partitionKeys, tagOf } from '../store/keys.ts'
import { type LiveListener, LiveTail } from '../store/live-channel.ts'
import { clientClosed, type Redis, withDeadline } from '../store/redis/redis.ts'
import { type EventEntry, eventsOf } from '../store/script/replies.ts'

/** `events.trimmed`: what followed may be gone. `null`: the client was closed, and nothing comes any more. Must not throw. */
type Listener = (event: RawEvent | null) => void

/** What this client wants of one session. */
interface Watched {
  /** Not tracked: undefined; not ended yet: null. */
  ended: Ended | null | undefined
  listeners: Listener[]
  wakers: (() => void)[]
}

/** Sessions whose end is remembered; the oldest are forgotten first, and then read from their records. */
const trackedMax = 10_000
/** A read that is under way while Redis is away never ends: it is not waited for longer. */
const stopMsMax = 1_000
/** Nobody waits longer for being subscribed: what is not stored may be missed. */
const subscribeMsMax = 1_000

export class EventHub {
  readonly #namespace: string
  readonly #open: () => Redis
  readonly #deadlineMs: number
  readonly #tails = new Map<number, Promise<EventTail>>()
  /** All that have a connection: also those that do not listen yet. */
  readonly #connected = new Set<EventTail>()
  /** Partitions whose tail listens already. */
  readonly #listening = new Set<number>()
  readonly #watched = new Map<string, Watched>()
  /** Those of them whose end is remembered. */
  #trackedCount = 0
  readonly #live: LiveTail
  #isStopped = false

  /** `open` gives a fresh connection: a tail blocks on its own. `deadlineMs`: how long it may take to begin to listen. */
  constructor(namespace: string, open: () => Redis, deadlineMs: number) {
    this.#namespace = namespace
    this.#open = open
    this.#deadlineMs = deadlineMs
    this.#live = new LiveTail(open, namespace)
  }

  /** The client was closed: nobody is told anything any more. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Calls back for each event of the session from now on; resolves, when that is so, with the id after which they come. */
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

  /** Calls back when a run of the session may have ended, or the client was closed; resolves when that is so. */
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

  /** Calls back for what is told and not stored; resolves when that is so, or after a while. */
  async listenLive(sessionId: string, listener: LiveListener): Promise<void> {
    if (this.#isStopped) return
    // Who may not subscribe, or cannot now, follows the events all the same.
    await withDeadline(this.#live.listen(sessionId, listener), subscribeMsMax).catch(() => {})
  }

  unlistenLive(sessionId: string, listener: LiveListener): void {
    this.#live.unlisten(sessionId, listener)
  }

  /** The session is about to be created: remember its end, if the tail listens already; else its end might come before. */
  track(sessionId: string): void {
    if (!this.#listening.has(partitionOf(sessionId))) return
    const watched = this.#watch(sessionId)
    this.#trackedCount++
    watched.ended = null
    while (this.#trackedCount > trackedMax) this.#forgetOldest()
  }

  // What is watched for somebody stays, behind all others.
  #forgetOldest(): void {
    for (const [sessionId, watched] of this.#watched) {
      this.#watched.delete(sessionId)
      this.#watched.set(sessionId, watched)
      this.forget(sessionId)
      return
    }
  }

  /** Not tracked: undefined; not ended yet: null. */
  ended(sessionId: string): Ended | null | undefined {
    return this.#watched.get(sessionId)?.ended
  }

  /** Its end was told to who remembers it by themselves, or is to be read from its record. */
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
      // Who listens next opens another: this one would connect for ever, and nobody would hear it.
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
    // First: who waits then looks at the records, also where these notes cannot be decoded.
    if (mayEndRun(notes)) for (const wake of watched.wakers) wake()
    if (watched.ended === null) watched.ended = endIn(notes)
    if (watched.listeners.length === 0) return
    for (const event of eventsOf(entry)) for (const tell of watched.listeners) tell(event)
  }

  /** Ends may be among what is gone: they are read from the records. */
  #tellTrimmed(partition: number, after: string): void {
    for (const [sessionId, watched] of this.#watched) {
      if (partitionOf(sessionId) !== partition) continue
      if (watched.ended === null) this.forget(sessionId)
      for (const wake of watched.wakers) wake()
      for (const tell of watched.listeners) tell(trimmedEvent(sessionId, after))
    }
  }

  /** Whoever waits is told that nothing comes any more. */
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

/** Takes the place of events that are no longer kept. The report and the histories still hold what those events said. */
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
