/**
 * Duty: the events of one session for one follower: past events from the stream, then live ones. Transient events (states, streamed text, tools
 * and their progress, log lines) come between them as they arrive. Does not own: which of them are repetitions (live-filter.ts).
 * EVENTS-1 Stored events come in order and each once, with none missing between past and live. Transient events do not change that.
 * EVENTS-2 A transient event carries the id of the stored event before it. So a follower can resume after any event and misses no stored one.
 * EVENTS-3 A slow follower loses transient events, but no stored ones, and is told how many it lost. If the stream was trimmed before it came to an event, it gets a note.
 *    How much waits here for it is bounded, by number and by bytes: beyond that it reads stored events from the stream, when it comes to them.
 * EVENTS-4 A follower without an event for long checks the session. If the session has ended, it gets the events that it missed. If the session
 *    is gone, for example after FLUSHALL, it fails.
 * EVENTS-5 A follower that stops, by its signal or with its client, gets nothing more, even if past events are left. It does not wait for a
 *    read that is under way.
 * EVENTS-6 What nodes published before the end of the session was stored comes before the events of the end, though it arrives on a connection of its own.
 */
import { setImmediate } from 'node:timers/promises'
import { type Rules, signalRule, yesOrNo } from '../../core/check/check-options.ts'
import { RuntimeError } from '../../core/errors.ts'
import { isEventBefore, isEventId, type RawEvent, streamIdOf } from '../../core/event/event.ts'
import { rootIdOf } from '../../core/ids.ts'
import { readEvents } from '../../store/event/event-pages.ts'
import type { LiveListener } from '../../store/event/live-channel.ts'
import { partitionKeys } from '../../store/keys.ts'
import { clientClosed, type Redis } from '../../store/redis/redis.ts'
import type { EarlyNotes, ReceivedNote } from '../event/early-notes.ts'
import { type EventHub, type Listener, trimmedEvent } from '../event/event-hub.ts'
import { LiveFilter } from '../event/live-filter.ts'
import { orAborted } from '../or-aborted.ts'

export interface EventsQuery {
  /** The id of an event, or "0-0" for all that are kept: past events after it come first. Without it, only live events come. */
  readonly after?: string | undefined
  /** False: no transient events, and no subscription to them. */
  readonly transient?: boolean | undefined
  /** False: past events alone, with `after`. Then it ends, also if the session goes on. Default: true. */
  readonly follow?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

export const eventsRules: Rules<EventsQuery> = {
  after: { expects: 'an event id like "1700000000000-0.2", or "0-0" for all that are kept', fits: isEventId },
  transient: yesOrNo,
  follow: yesOrNo,
  signal: signalRule,
}

interface EventsContext {
  readonly hub: EventHub
  readonly redis: Redis
  readonly tag: string
  /** How long a read may take, also while Redis is away or busy. */
  readonly deadlineMs: number
  /** After this long without an event the follower checks the session. */
  readonly silenceMs?: number
  /** The notes that arrived since before the session was created. */
  readonly early?: EarlyNotes | undefined
  createdAt(): Promise<number | null>
  /** Rejects if the session is gone. */
  hasEnded(): Promise<boolean>
  /** True if a failed run of the session went on: then the first event of an end need not be the last. */
  wasRetried?(): Promise<boolean>
}

/** Transient events were dropped here: this many. */
interface Gap {
  dropped: number
}

/** Stored events that arrived here were dropped: they are in the stream. */
interface Behind {
  readonly isBehind: true
}

type Arrival = RawEvent | ReceivedNote | Gap | Behind

const silenceMs = 30_000

/** How much waits for the follower at most, for stored and for transient events each: this many arrivals, and this many characters. */
const storedMax = 1_000
const transientMax = 10_000
const lengthMax = 1_048_576

export async function* sessionEvents(
  sessionId: string,
  context: EventsContext,
  query: EventsQuery,
): AsyncGenerator<RawEvent, void, undefined> {
  if (context.hub.isStopped) throw clientClosed()
  const inbox = new Inbox()
  const filter = new LiveFilter()
  let early = query.transient === false ? undefined : context.early
  const events = storedAndLive(sessionId, context, query, { inbox, filter })
  try {
    for (;;) {
      const next = await orAborted(events.next(), query.signal)
      if (next.done || context.hub.isStopped) return
      if (!next.value.transient) filter.noteStored(next.value)
      yield next.value
      // All of these notes came after the first stored event, which says what the session is.
      for (const word of early?.take() ?? [])
        yield* transientEvents({ ...word, notes: filter.pass(word, word.at) }, next.value.id)
      if (early && early.dropped > 0) yield droppedEvent(sessionId, next.value.id, early.dropped)
      early = undefined
    }
  } catch (error) {
    if (!query.signal?.aborted) throw error
  } finally {
    inbox.wake()
    // A follower that waits for a read ends after it.
    await Promise.race([events.return(), setImmediate()])
  }
}

async function* storedAndLive(
  sessionId: string,
  context: EventsContext,
  query: EventsQuery,
  { inbox, filter }: { readonly inbox: Inbox; readonly filter: LiveFilter },
): AsyncGenerator<RawEvent, void, undefined> {
  const isUnwanted = () => query.signal?.aborted === true || context.hub.isStopped
  try {
    const listeningFrom = await inbox.open(sessionId, context.hub, query.transient !== false)
    let past = yield* pastEvents(sessionId, context, query.after, isUnwanted)
    if (past === 'ended' || query.follow === false) return
    inbox.passOver(past?.readTo)
    // Nodes repeat what their turns do now. Notes that come before the past has been read are dropped.
    filter.join(Date.now())
    if (query.transient !== false) context.hub.announceLive(sessionId)
    let seen = past?.seen ?? listeningFrom
    while (!isUnwanted()) {
      const woken = inbox.nextWake()
      for (let arrival = inbox.take(); arrival && !isUnwanted(); arrival = inbox.take()) {
        if ('dropped' in arrival) {
          yield droppedEvent(sessionId, seen, arrival.dropped)
          continue
        }
        if ('notes' in arrival) {
          yield* transientEvents({ ...arrival, notes: filter.pass(arrival, arrival.at) }, seen)
          continue
        }
        if ('isBehind' in arrival || arrival.type === 'events.trimmed') {
          const after = 'id' in arrival && isEventBefore(seen, arrival.id) ? arrival.id : seen
          past = yield* pastEvents(sessionId, context, after, isUnwanted)
          if (past === 'ended') return
          inbox.passOver(past?.readTo)
          seen = past?.seen ?? after
          continue
        }
        if (inbox.isOfEnd(arrival))
          for (const word of await inbox.lastWords())
            yield* transientEvents({ ...word, notes: filter.pass(word, word.at) }, seen)
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
    // The client was closed during a read: that is no failure of the follower.
    if (!context.hub.isStopped) throw error
  } finally {
    inbox.close()
  }
}

/** Rejects if the session is gone: its stream would be read to the end for nothing. */
async function createdAt(context: EventsContext): Promise<number> {
  const at = await context.createdAt()
  if (at === null) await context.hasEnded()
  return at ?? 1
}

/** Resolves with false if no event came for that long. */
async function isWoken(woken: Promise<void>, ms: number): Promise<boolean> {
  const { promise: silent, resolve } = Promise.withResolvers<false>()
  const timer = setTimeout(resolve, ms, false)
  const isAwake = await Promise.race([woken.then(() => true), silent])
  clearTimeout(timer)
  return isAwake
}

/** If Redis is away, nothing is known of the session: then this does not fail. */
async function isOver(context: EventsContext): Promise<boolean> {
  try {
    return await context.hasEnded()
  } catch (error) {
    if (error instanceof RuntimeError && error.retryable) return false
    throw error
  }
}

/**
 * Yields past events. Returns the id of the last of them, and how far the stream was read; undefined if no past event was asked for. `ended`:
 * no more events come, or the follower has stopped.
 */
async function* pastEvents(
  sessionId: string,
  context: EventsContext,
  after: string | undefined,
  isUnwanted: () => boolean,
): AsyncGenerator<RawEvent, { seen: string; readTo: string } | 'ended' | undefined, undefined> {
  if (after === undefined) return (await context.hasEnded()) ? 'ended' : undefined
  // No event of a session is older than the session. So the stream need not be read from its beginning.
  const from = after === '0-0' ? `${Math.max(0, (await createdAt(context)) - 1)}-0` : after
  let [seen, readTo, isOver] = [from, from, false]
  let count: number | undefined
  for (;;) {
    const page = await readEvents(context.redis, partitionKeys(context.tag), readTo, context.deadlineMs, count)
    count = page.nextCount
    if (page.trimmed) yield trimmedEvent(sessionId, readTo)
    for (const event of page.events) {
      if (isUnwanted()) return 'ended'
      if (event.sessionId !== sessionId) continue
      seen = event.id
      yield event
      if (event.ended && !(event.ended.status === 'failed' && (await context.wasRetried?.()))) return 'ended'
    }
    if (isUnwanted()) return 'ended'
    readTo = page.last
    if (page.more) continue
    // All events of a session that has ended are in the stream. This reads on to its end, and nothing more comes.
    if (isOver) return 'ended'
    isOver = await context.hasEnded()
    if (!isOver) return { seen, readTo }
  }
}

/** Events that have arrived for one follower and wait for it. */
class Inbox {
  #waiting: { readonly arrival: Arrival; readonly length: number }[] = []
  readonly #stored = new Load(storedMax)
  readonly #transient = new Load(transientMax)
  /** The last gap among the events that wait. */
  #gap: Gap | undefined
  /** Stored events are dropped until the follower comes to this. */
  #behind: Behind | undefined
  /** The stream id of the events of the end that wait. */
  #end: string | undefined
  #wake = () => {}
  #close = () => {}
  #settle = async () => {}
  #readTo: string | undefined

  /** Resolves once both sorts of events arrive, with the id of the last stored event before them. */
  async open(sessionId: string, hub: EventHub, withTransient: boolean): Promise<string> {
    const onEvent: Listener = (event, length = 0) => (event === null ? this.wake() : this.#keep(event, length))
    const onWord: LiveListener = (word, length = 0) => {
      if (this.#transient.isFull) this.#drop(word.notes.length)
      else this.#push({ ...word, at: Date.now() }, length)
    }
    this.#close = () => {
      hub.unlisten(sessionId, onEvent)
      if (withTransient) hub.unlistenLive(sessionId, onWord)
    }
    // Whoever subscribes again is answered behind all that was published before.
    if (withTransient) this.#settle = () => hub.listenLive(sessionId, onWord)
    const [listeningFrom] = await Promise.all([
      hub.listen(sessionId, onEvent),
      withTransient ? hub.listenLive(sessionId, onWord) : undefined,
    ])
    return listeningFrom
  }

  /** The follower got stored events up to here from the stream. Transient events from before the last of them are past as well. */
  passOver(readTo: string | undefined): void {
    this.#readTo = readTo
    const past = this.#waiting.findLastIndex(({ arrival }) => 'id' in arrival && !this.#isNew(arrival)) + 1
    this.#takeOut(past)
  }

  take(): Arrival | undefined {
    for (;;) {
      const [arrival] = this.#takeOut(1)
      if (arrival === undefined || !('id' in arrival) || this.#isNew(arrival)) return arrival
    }
  }

  #takeOut(count: number): Arrival[] {
    return this.#waiting.splice(0, count).map(({ arrival, length }) => {
      if (arrival === this.#gap) this.#gap = undefined
      if (arrival === this.#behind) this.#behind = undefined
      this.#loadOf(arrival)?.take(length)
      return arrival
    })
  }

  #loadOf(arrival: Arrival): Load | undefined {
    if ('id' in arrival) return this.#stored
    return 'notes' in arrival ? this.#transient : undefined
  }

  /** True for the first event that was stored with the end of the session. */
  isOfEnd({ id }: RawEvent): boolean {
    return this.#end === streamIdOf(id)
  }

  /** Takes out what nodes published before the end, also what is still on its way (EVENTS-6). */
  async lastWords(): Promise<ReceivedNote[]> {
    this.#end = undefined
    await this.#settle()
    const words = this.#waiting.flatMap(({ arrival }) => ('notes' in arrival ? [arrival] : []))
    this.#waiting = this.#waiting.filter(({ arrival }) => !('notes' in arrival))
    return words
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

  #keep(event: RawEvent, length: number): void {
    if (this.#behind !== undefined) return
    if (!this.#stored.isFull) {
      this.#push(event, length)
      return
    }
    // Stored events that wait come from the stream as well, and transient events between them have no place any more.
    const dropped = this.#takeOut(this.#waiting.length).reduce((total, arrival) => total + notesIn(arrival), 0)
    if (dropped > 0) this.#drop(dropped)
    this.#behind = { isBehind: true }
    this.#push(this.#behind, 0)
  }

  #push(arrival: Arrival, length: number): void {
    if ('id' in arrival && arrival.ended) this.#end = streamIdOf(arrival.id)
    this.#loadOf(arrival)?.add(length)
    this.#waiting.push({ arrival, length })
    this.#wake()
  }

  #drop(notes: number): void {
    if (this.#gap === undefined) {
      this.#gap = { dropped: 0 }
      this.#push(this.#gap, 0)
    }
    this.#gap.dropped += notes
  }

  // The trimmed part may begin right behind the past events.
  #isNew({ id, type }: RawEvent): boolean {
    return this.#readTo === undefined || type === 'events.trimmed' || isEventBefore(this.#readTo, id)
  }
}

/** How much of one sort waits. */
class Load {
  readonly #most: number
  #count = 0
  #length = 0

  constructor(most: number) {
    this.#most = most
  }

  get isFull(): boolean {
    return this.#count >= this.#most || this.#length >= lengthMax
  }

  add(length: number): void {
    this.#count++
    this.#length += length
  }

  take(length: number): void {
    this.#count--
    this.#length -= length
  }
}

function notesIn(arrival: Arrival): number {
  return 'dropped' in arrival ? arrival.dropped : 'notes' in arrival ? arrival.notes.length : 0
}

function droppedEvent(sessionId: string, id: string, count: number): RawEvent {
  const head = { id, sessionId, workerId: rootIdOf(sessionId), at: Date.now() }
  return { ...head, type: 'events.dropped', details: { count }, transient: true }
}

function transientEvents({ sessionId, workerId, notes, at }: ReceivedNote, id: string): RawEvent[] {
  return notes.map(([type, details]) => ({ id, type, sessionId, workerId, at, details, transient: true }))
}
