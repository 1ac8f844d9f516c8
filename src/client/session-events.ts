/**
 * Duty: the events of one session for one follower: past ones from the stream, then live ones, with what is told to who listens now
 * (text as it streams, progress of tools) between them as it comes.
 * V1 Stored events come in order, each once, none left out between past and live: what is transient changes nothing of it.
 * V2 A transient event carries the id of the stored event before it, so resuming after any event leaves no stored one out.
 * V3 A follower that lags loses what is transient, never what is stored; and is told, where that was trimmed before it came.
 * V4 Who hears nothing for long looks whether the session still goes on: of one that has ended it is told what it missed, and one that is
 *    gone, as after FLUSHALL, ends with an error.
 * V5 Who stops following, by its signal or with its client, is told nothing more, however much of the past or of what it lags by is left;
 *    and waits for no read that is under way, as while Redis is away.
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
  /** After so long without a word the follower looks whether there is still something to follow. */
  readonly silenceMs?: number
  createdAt(): Promise<number | null>
  /** Rejects when the session is gone. */
  hasEnded(): Promise<boolean>
}

/** What was said, and when it was heard. */
interface HeardWord extends LiveWord {
  readonly at: number
}

type Arrival = RawEvent | HeardWord

const silenceMs = 30_000

/** What is transient is dropped while so much waits for the follower. */
const lagMax = 10_000

export async function* sessionEvents(
  sessionId: string,
  context: EventsContext,
  query: EventsQuery,
): AsyncGenerator<RawEvent, void, undefined> {
  if (context.hub.isStopped) throw clientClosed()
  const inbox = new Inbox()
  const told = toldEvents(sessionId, context, query, inbox)
  try {
    for (;;) {
      const next = await orAborted(told.next(), query.signal)
      if (next.done || context.hub.isStopped) return
      yield next.value
    }
  } catch (error) {
    if (!query.signal?.aborted) throw error
  } finally {
    inbox.wake()
    // What waits for a read ends after it.
    await Promise.race([told.return(), setImmediate()])
  }
}

async function* toldEvents(
  sessionId: string,
  context: EventsContext,
  query: EventsQuery,
  inbox: Inbox,
): AsyncGenerator<RawEvent, void, undefined> {
  const isUnwanted = () => query.signal?.aborted === true || context.hub.isStopped
  try {
    const heardFrom = await inbox.open(sessionId, context.hub, query.transient !== false)
    let past = yield* pastEvents(sessionId, context, query.after, isUnwanted)
    if (past === 'ended') return
    inbox.passOver(past?.readTo)
    let seen = past?.seen ?? heardFrom
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
    // A read that the end of the client broke off is no failure of the follower.
    if (!context.hub.isStopped) throw error
  } finally {
    inbox.close()
  }
}

/** False when it was silent for so long. */
async function isWoken(woken: Promise<void>, ms: number): Promise<boolean> {
  const { promise: silent, resolve } = Promise.withResolvers<false>()
  const timer = setTimeout(resolve, ms, false)
  const isHeard = await Promise.race([woken.then(() => true), silent])
  clearTimeout(timer)
  return isHeard
}

/** A Redis that is away now says nothing of the session. */
async function isOver(context: EventsContext): Promise<boolean> {
  try {
    return await context.hasEnded()
  } catch (error) {
    if (error instanceof RuntimeError && error.retryable) return false
    throw error
  }
}

/**
 * Where the past ended: the id of the last event that was told, and how far the stream was read. Undefined when none was asked for; `ended` also
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
    // Of a session that has ended all is in the stream: read on to the end of it, and nothing more will come.
    if (isOver) return 'ended'
    isOver = await context.hasEnded()
    if (!isOver) return { seen, readTo }
  }
}

/** What has arrived for one follower and was not taken yet. */
class Inbox {
  #arrived: Arrival[] = []
  #wake = () => {}
  #close = () => {}
  #readTo: string | undefined

  /** Resolves, when both sorts are listened to, with the id after which stored events arrive. */
  async open(sessionId: string, hub: EventHub, withTransient: boolean): Promise<string> {
    const onEvent = (event: RawEvent | null) => (event === null ? this.wake() : this.#push(event))
    const onWord = (word: LiveWord) => {
      if (this.#arrived.length < lagMax) this.#push({ ...word, at: Date.now() })
    }
    this.#close = () => {
      hub.unlisten(sessionId, onEvent)
      if (withTransient) hub.unlistenLive(sessionId, onWord)
    }
    const [heardFrom] = await Promise.all([
      hub.listen(sessionId, onEvent),
      withTransient ? hub.listenLive(sessionId, onWord) : undefined,
    ])
    return heardFrom
  }

  /** Stored events up to here were told from the stream, so what was said before the last of them is past, too. */
  passOver(readTo: string | undefined): void {
    this.#readTo = readTo
    const isTold = (arrival: Arrival) => !('notes' in arrival) && !this.#isNew(arrival)
    this.#arrived = this.#arrived.slice(this.#arrived.findLastIndex(isTold) + 1)
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

  // What was trimmed may begin where the past ended.
  #isNew({ id, type }: RawEvent): boolean {
    return this.#readTo === undefined || type === 'events.trimmed' || isEventBefore(this.#readTo, id)
  }
}

function transientEvents({ sessionId, workerId, notes, at }: HeardWord, id: string): RawEvent[] {
  return notes.map(([type, details]) => ({ id, type, sessionId, workerId, at, details, transient: true }))
}
