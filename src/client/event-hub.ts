/**
 * Duty: hands the events of each session to those who wait for that session, from one tail per partition that is opened when the
 * first one asks. It also remembers how sessions ended that this client created while it was listening, so that a later
 * `result()` needs no read at all. What is told to who listens now and never stored comes from one more connection, which only
 * those open who ask for it.
 */
import { decodeEvents, type Ended, type TroupeEvent } from '../core/event.ts'
import { partitionOf } from '../core/ids.ts'
import { EventTail, type StreamEntry } from '../store/event-tail.ts'
import { partitionKeys, tagOf } from '../store/keys.ts'
import { type LiveListener, LiveTail } from '../store/live-channel.ts'
import { type Redis, withDeadline } from '../store/redis.ts'

type Listener = (event: TroupeEvent) => void

/** Sessions whose end is remembered; the oldest are forgotten first, and then read from their records. */
const trackedMax = 10_000
/** A read that is under way while Redis is away never ends: it is not waited for longer. */
const stopMsMax = 1_000
/** Nobody waits longer for being subscribed: what is not stored may be missed. */
const subscribeMsMax = 1_000

export class EventHub {
  readonly #namespace: string
  readonly #open: () => Redis
  readonly #tails = new Map<number, Promise<EventTail>>()
  /** Partitions whose tail listens already. */
  readonly #listening = new Set<number>()
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #tracked = new Map<string, Ended | null>()
  readonly #live: LiveTail

  /** `open` gives a fresh connection: a tail blocks on its own. */
  constructor(namespace: string, open: () => Redis) {
    this.#namespace = namespace
    this.#open = open
    this.#live = new LiveTail(open, namespace)
  }

  /** Calls back for each event of the session from now on; resolves, when that is so, with the id after which they come. */
  async listen(sessionId: string, listener: Listener): Promise<string> {
    const tail = await this.#tail(partitionOf(sessionId))
    const listeners = this.#listeners.get(sessionId) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(sessionId, listeners)
    return tail.last
  }

  unlisten(sessionId: string, listener: Listener): void {
    const listeners = this.#listeners.get(sessionId)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#listeners.delete(sessionId)
  }

  /** Calls back for what is told and not stored; resolves when that is so, or after a while. */
  async listenLive(sessionId: string, listener: LiveListener): Promise<void> {
    // Who may not subscribe, or cannot now, follows the events all the same.
    await withDeadline(this.#live.listen(sessionId, listener), subscribeMsMax).catch(() => {})
  }

  unlistenLive(sessionId: string, listener: LiveListener): void {
    this.#live.unlisten(sessionId, listener)
  }

  /** The session is about to be created: remember its end, if the tail listens already; else its end might come before. */
  track(sessionId: string): void {
    if (!this.#listening.has(partitionOf(sessionId))) return
    this.#tracked.set(sessionId, null)
    if (this.#tracked.size > trackedMax) this.#tracked.delete(this.#tracked.keys().next().value as string)
  }

  /** Not tracked: undefined; not ended yet: null. */
  ended(sessionId: string): Ended | null | undefined {
    return this.#tracked.get(sessionId)
  }

  #tail(partition: number): Promise<EventTail> {
    let opening = this.#tails.get(partition)
    if (opening === undefined) {
      opening = this.#openTail(partition)
      this.#tails.set(partition, opening)
      opening.catch(() => this.#tails.delete(partition))
    }
    return opening
  }

  async #openTail(partition: number): Promise<EventTail> {
    const tail = new EventTail(this.#open(), partitionKeys(tagOf(this.#namespace, partition)))
    await tail.listen((entry) => this.#tell(entry))
    this.#listening.add(partition)
    return tail
  }

  #tell({ id, fields }: StreamEntry): void {
    const sessionId = fields.session ?? ''
    const listeners = this.#listeners.get(sessionId)
    const tracked = fields.ended !== undefined && this.#tracked.has(sessionId)
    if (listeners === undefined && !tracked) return
    for (const event of decodeEvents(id, fields)) {
      if (event.ended && tracked) this.#tracked.set(sessionId, event.ended)
      for (const listener of listeners ?? []) {
        try {
          listener(event)
        } catch {
          // A listener's failure is its own; it must not stop the others.
        }
      }
    }
  }

  async stop(): Promise<void> {
    this.#live.stop()
    const stopping = Promise.allSettled(this.#tails.values()).then((tails) =>
      Promise.all(tails.flatMap((tail) => (tail.status === 'fulfilled' ? [tail.value.stop()] : []))),
    )
    await Promise.race([stopping, new Promise((resolve) => setTimeout(resolve, stopMsMax).unref())])
  }
}
