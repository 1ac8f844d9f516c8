/**
 * Duty: the events of one session for one follower: past ones from the stream, then live ones. Transient events (text as it streams,
 * progress of tools) come between them at the moment they arrive.
 * FOLLOWER-1 Stored events come in order, each once, and none is missing between past and live. Transient events change nothing of that.
 * FOLLOWER-2 A transient event carries the id of the stored event before it. A follower may therefore resume after any event and misses
 *    no stored one.
 * FOLLOWER-3 A follower that lags loses transient events, never stored ones. If stored events were trimmed before it read them, it gets
 *    `events.trimmed` in their place.
 * FOLLOWER-4 A follower without events for a while asks whether the session still goes on. If the session has ended, the follower gets
 *    the events that it missed. If the session is gone, for example after FLUSHALL, the follower ends with an error.
 * FOLLOWER-5 After its signal has fired, or its client was closed, a follower gets no more events, however many are left. It does not wait
 *    for a read that is under way, because Redis may be away.
 */
import { setImmediate } from 'node:timers/promises'
import { type Rules, signalRule, yesOrNo } from '../core/check/check-options.ts'
import { RuntimeError } from '../core/errors.ts'
import { isEventBefore, isEventId, type RawEvent } from '../core/event/event.ts'
import { readEvents } from '../store/event-tail.ts'
import { partitionKeys } from '../store/keys.ts'
import type { LiveWord } from '../store/live-channel.ts'
import { clientClosed, type Redis } from '../store/redis/redis.ts'
import { type EventHub, trimmedEvent } from './event-hub.ts'
import { orAborted } from './or-aborted.ts'

export interface EventsQuery {
  /** An event id, or "0-0" for all that are kept: past events after it come first. Without it: live ones only. */
  readonly after?: string | undefined
  /** False leaves text as it streams and progress of tools out, and subscribes to nothing. */
  readonly transient?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

export const eventsRules: Rules<EventsQuery> = {
  after: { expects: 'an event id like "1700000000000-0.2", or "0-0" for all that are kept', fits: isEventId },
  transient: yesOrNo,
  signal: signalRule,
}

interface EventsContext {
  readonly hub: EventHub
  readonly redis: Redis
  readonly tag: string
  /** How long a read may take while Redis is away, or busy. */
  readonly deadlineMs: number
  /** After so long without an event the follower looks whether there is still something to follow. */
  readonly silenceMs?: number
  createdAt(): Promise<number | null>
  /** Rejects when the session is gone. */
  hasEnded(): Promise<boolean>
}

/** A live note, and when it arrived. */
interface ReceivedNote extends LiveWord {
  readonly at: number
}

type Arrival = RawEvent | ReceivedNote

const silenceMs = 30_000

/** Transient events are dropped while so many events wait for the follower. */
const lagMax = 10_000

export async function* sessionEvents(
  sessionId: string,
  context: EventsContext,
  query: EventsQuery,
): AsyncGenerator<RawEvent, void, undefined> {
  if (context.hub.isStopped) throw clientClosed()
  const inbox = new Inbox()
  const events = storedAndLive(sessionId, context, query, inbox)
  try {
    for (;;) {
      const next = await orAborted(events.next(), query.signal)
      if (next.done || context.hub.isStopped) return
      yield next.value
    }
  } catch (error) {
    if (!query.signal?.aborted) throw error
  } finally {
    inbox.wake()
    // A generator that waits for a read ends after it.
    await Promise.race([events.return(), setImmediate()])
  }
}

async function* storedAndLive(
  sessionId: string,
  context: EventsContext,
  query: EventsQuery,
  inbox: Inbox,
): AsyncGenerator<RawEvent, void, undefined> {
  const isUnwanted = () => query.signal?.aborted === true || context.hub.isStopped
  try {
    const listeningFrom = await inbox.open(sessionId, context.hub, query.transient !== false)
    let past = yield* pastEvents(sessionId, context, query.after, isUnwanted)
    if (past === 'ended') return
    inbox.passOver(past?.readTo)
    let seen = past?.seen ?? listeningFrom
    while (!isUnwanted()) {
      const woken = inbox.nextWake()
      for (let arrival = inbox.take(); arrival && !isUnwanted(); arrival = inbox.take()) {
        if ('notes' in arrival) {
          yield* transientEvents(arrival, seen)
          continue
        }
        if (arrival.type === 'events.trimmed') {
          const after = isEventBefore(seen, arrival.id) ? arrival.id : seen
          past = yield* pastEvents(sessionId, context, after, isUnwanted)
          if (past === 'ended') return
          inbox.passOver(past?.readTo)
          seen = past?.seen ?? after
          continue
        }
        seen = arrival.id
        yield arrival
        if (arrival.ended) return
      }
      if (!(await isWoken(woken, context.silenceMs ?? silenceMs)) && (await isOver(context))) {
        yield* pastEvents(sessionId, context, seen, isUnwanted)
        return
      }
    }
  } catch (error) {
    // Closing the client breaks off a read: that is no failure of the follower.
    if (!context.hub.isStopped) throw error
  } finally {
    inbox.close()
  }
}

/** False when nothing arrived for so long. */
async function isWoken(woken: Promise<void>, ms: number): Promise<boolean> {
  const { promise: silent, resolve } = Promise.withResolvers<false>()
  const timer = setTimeout(resolve, ms, false)
  const isAwake = await Promise.race([woken.then(() => true), silent])
  clearTimeout(timer)
  return isAwake
}

/** While Redis is away, nobody knows whether the session has ended. */
async function isOver(context: EventsContext): Promise<boolean> {
  try {
    return await context.hasEnded()
  } catch (error) {
    if (error instanceof RuntimeError && error.retryable) return false
    throw error
  }
}

/**
 * Where the past ended: the id of the last event that was given out, and how far the stream was read. Undefined when none was asked for; `ended` also
 * when nobody wants the rest.
 */
async function* pastEvents(
  sessionId: string,
  context: EventsContext,
  after: string | undefined,
  isUnwanted: () => boolean,
): AsyncGenerator<RawEvent, { seen: string; readTo: string } | 'ended' | undefined, undefined> {
  if (after === undefined) return (await context.hasEnded()) ? 'ended' : undefined
  // Nothing of a session is older than the session: the stream is not read from its beginning.
  const from = after === '0-0' ? `${Math.max(0, ((await context.createdAt()) ?? 1) - 1)}-0` : after
  let [seen, readTo, isOver] = [from, from, false]
  for (;;) {
    const page = await readEvents(context.redis, partitionKeys(context.tag), readTo, context.deadlineMs)
    if (page.trimmed) yield trimmedEvent(sessionId, readTo)
    for (const event of page.events) {
      if (isUnwanted()) return 'ended'
      if (event.sessionId !== sessionId) continue
      seen = event.id
      yield event
      if (event.ended) return 'ended'
    }
    if (isUnwanted()) return 'ended'
    readTo = page.last
    if (page.more) continue
    // All events of a session that has ended are in the stream: after the end of the stream nothing more will come.
    if (isOver) return 'ended'
    isOver = await context.hasEnded()
    if (!isOver) return { seen, readTo }
  }
}

/** Events that have arrived for one follower and were not taken yet. */
class Inbox {
  #arrived: Arrival[] = []
  #wake = () => {}
  #close = () => {}
  #readTo: string | undefined

  /** Listens to both sorts of events. Resolves with the id after which stored events arrive. */
  async open(sessionId: string, hub: EventHub, withTransient: boolean): Promise<string> {
    const onEvent = (event: RawEvent | null) => (event === null ? this.wake() : this.#push(event))
    const onWord = (word: LiveWord) => {
      if (this.#arrived.length < lagMax) this.#push({ ...word, at: Date.now() })
    }
    this.#close = () => {
      hub.unlisten(sessionId, onEvent)
      if (withTransient) hub.unlistenLive(sessionId, onWord)
    }
    const [listeningFrom] = await Promise.all([
      hub.listen(sessionId, onEvent),
      withTransient ? hub.listenLive(sessionId, onWord) : undefined,
    ])
    return listeningFrom
  }

  /** The follower has the stored events up to here from the stream. Transient events before the last of them are past too. */
  passOver(readTo: string | undefined): void {
    this.#readTo = readTo
    const isPast = (arrival: Arrival) => !('notes' in arrival) && !this.#isNew(arrival)
    this.#arrived = this.#arrived.slice(this.#arrived.findLastIndex(isPast) + 1)
  }

  take(): Arrival | undefined {
    for (;;) {
      const arrival = this.#arrived.shift()
      if (arrival === undefined || 'notes' in arrival || this.#isNew(arrival)) return arrival
    }
  }

  nextWake(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  wake(): void {
    this.#wake()
  }

  close(): void {
    this.#close()
  }

  #push(arrival: Arrival): void {
    this.#arrived.push(arrival)
    this.#wake()
  }

  // An `events.trimmed` may carry the id at which the past ended.
  #isNew({ id, type }: RawEvent): boolean {
    return this.#readTo === undefined || type === 'events.trimmed' || isEventBefore(this.#readTo, id)
  }
}

function transientEvents({ sessionId, workerId, notes, at }: ReceivedNote, id: string): RawEvent[] {
  return notes.map(([type, details]) => ({ id, type, sessionId, workerId, at, details, transient: true }))
}
