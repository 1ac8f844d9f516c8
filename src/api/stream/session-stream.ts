/**
 * Duty: the events of one session for one caller: which of them, from where on, and how fast.
 * SESSION-STREAM-1 Each stored event that the caller asked for comes once, in order. Nothing is taken from the session while the caller lags: how
 *                  much waits then is bounded by the session's own follower, which says what it dropped.
 */
import type { Session } from '../../client/session/session.ts'
import { type EventType, isEventBefore, type TroupeEvent } from '../../core/event/event.ts'
import { eventJson } from './event-json.ts'
import type { HistoryFeed } from './history-feed.ts'
import type { SseWriter } from './sse.ts'

export type Wants = (event: TroupeEvent) => boolean

export interface StreamQuery {
  /** The id of the event before the first one. */
  readonly after: string
  /** A position behind all that was stored when the stream began. */
  readonly newest: string
  readonly transient: boolean
  /** False: only past events come. */
  readonly follow: boolean
  /** How many events come at most. */
  readonly limit: number
  readonly wants: Wants
  /** Entries of histories that come between the events. */
  readonly histories: HistoryFeed | undefined
}

/**
 * Resolves with the position up to which the session was read, once no more events come; with null if its limit or its caller ended the stream. That is no
 * further than the event that ends the session: behind it stands what detached workers do.
 */
export async function streamSession(
  session: Session,
  writer: SseWriter,
  { after, newest, transient, follow, limit, wants, histories }: StreamQuery,
  signal: AbortSignal,
): Promise<string | null> {
  let left: number = limit
  let readTo: string | null = newerOf(after, newest)
  for await (const event of session.events({ after, transient, follow, signal })) {
    readTo = event.ended ? event.id : newerOf(event.id, newest)
    if (wants(event)) {
      writer.send({ id: event.id, type: event.type, json: eventJson(event) })
      if (--left === 0) {
        readTo = null
        break
      }
    }
    if (event.transient !== true) histories?.note(event.workerId)
    if (writer.lags) await writer.drained(signal)
  }
  await histories?.finish()
  return signal.aborted ? null : readTo
}

function newerOf(one: string, other: string): string {
  return isEventBefore(one, other) ? other : one
}

/** The id of the event behind which the last `count` wanted stored events stand. */
export async function beginOfTail(session: Session, count: number, wants: Wants, signal: AbortSignal): Promise<string> {
  const ids: string[] = ['0-0']
  for await (const event of session.events({ after: '0-0', transient: false, follow: false, signal })) {
    // It takes one event more than is wanted: the caller begins behind that one.
    if (wants(event) && event.type !== 'events.trimmed') ids.push(event.id)
    if (ids.length > count + 1) ids.shift()
  }
  return ids[0] as string
}

/** Notes about the stream itself: a follower gets them whatever types it wants, because they say what it misses. */
const always: ReadonlySet<EventType> = new Set(['events.trimmed', 'events.dropped'])

/** `types`: names with commas between them; `tool.*` for a group. */
export function wantsTypes(types: string | undefined): Wants {
  if (types === undefined) return () => true
  const names = types.split(',').map((name) => name.trim())
  const exact = new Set<string>(names)
  const groups = names.filter((name) => name.endsWith('.*')).map((name) => name.slice(0, -1))
  return ({ type }) => always.has(type) || exact.has(type) || groups.some((group) => type.startsWith(group))
}

/** Only events of a worker and of what it spawned, at any depth. `workers`: the workers that exist now. */
export function wantsUnder(
  root: string,
  workers: readonly { readonly id: string; readonly parentId: string | null }[],
): Wants {
  const under = new Set([root])
  // Parents come before their children.
  for (const { id, parentId } of workers) if (parentId !== null && under.has(parentId)) under.add(id)
  return (event) => {
    if (event.type === 'worker.spawned' && under.has(event.workerId)) under.add(event.details.id)
    return always.has(event.type) || under.has(event.workerId)
  }
}
