/**
 * Duty: the one catalogue of events. Past-tense facts, `noun.verb`; one stream entry per commit holds all that it changed, as a
 * JSON array of [type, details]. The stream id is the event id from which a follower resumes. An event is for watching, never for
 * deciding: records decide.
 */
import type { ResultStatus } from './entry.ts'
import type { EventDetails } from './event-details.ts'
import { rootIdOf } from './ids.ts'

export const eventTypes = [
  'session.created',
  'session.completed',
  'session.failed',
  'session.limited',
  'session.cancelRequested',
  'session.cancelled',
  'worker.spawned',
  // Reserved: nothing writes it.
  'worker.stateChanged',
  'worker.failed',
  'worker.cancelled',
  'message.accepted',
  'message.consumed',
  'message.deadLettered',
  'message.redriven',
  // Reserved, too.
  'turn.parked',
  'turn.retried',
  'run.started',
  'run.completed',
  'model.replied',
  'model.blanked',
  'tool.started',
  'tool.succeeded',
  'tool.failed',
  'tool.unknown',
  // Not in the stream: a follower is told that events it asked for are no longer kept.
  'events.trimmed',
  // Transient: told to who listens now, never stored.
  'text.delta',
  'reasoning.delta',
  'tool.progress',
] as const

export const transientTypes = ['text.delta', 'reasoning.delta', 'tool.progress'] as const
export type TransientType = (typeof transientTypes)[number]

export type EventType = (typeof eventTypes)[number]

/** The types whose events tell nothing beside it. */
type BareType = {
  [Type in EventType]: EventDetails[Type] extends Readonly<Record<string, never>> ? Type : never
}[EventType]
type NoteOf<Type extends EventType> = readonly [type: Type, details: EventDetails[Type]]

/** What is written of an event. */
export type EventNote = readonly [type: BareType] | { [Type in EventType]: NoteOf<Type> }[EventType]

/** How a session ended, as its stream entry says it. */
export interface Ended {
  readonly status: ResultStatus
  /** Position of the result in the root's history; null when the event does not say. */
  readonly position: number | null
  /** Spares who waits for the result a question: the history entry at that position as JSON, when it is small; else null. */
  readonly entryJson: string | null
}

export interface EventHead {
  /** `<stream id>.<number within the entry>`: resume after it. A transient event has the id of the stored one before it. */
  readonly id: string
  readonly sessionId: string
  readonly workerId: string
  /** Milliseconds since the epoch, by Redis's clock; of what is not stored, by the follower's. */
  readonly at: number
  /** Set on what is told to who listens now and never stored (`transientTypes`). */
  readonly transient?: true
  /** Set on the event with which the session ended. */
  readonly ended?: Pick<Ended, 'status' | 'position'>
}

/** As it is read: nobody has looked at its details, and a newer troupe may write other types. */
export interface RawEvent extends EventHead {
  readonly type: EventType
  readonly details: Readonly<Record<string, unknown>>
}

/** As a follower gets it: `type` tells what is in `details`. Be ready for types that this version does not know: they are passed on. */
export type TroupeEvent = {
  [Type in EventType]: EventHead & { readonly type: Type; readonly details: EventDetails[Type] }
}[EventType]

export function encodeEvents(notes: readonly EventNote[]): string {
  return JSON.stringify(notes)
}

/** No commit makes more events. */
const partSize = 100_000

/** What a stream entry tells of one commit, as events; `part`: its number within the entry. Types of a newer troupe are passed on as they are. */
export function decodeEvents(id: string, fields: Readonly<Record<string, string>>, part = 0): RawEvent[] {
  const notes = JSON.parse(fields.events ?? '[]') as [type: EventType, details?: RawEvent['details']][]
  const sessionId = fields.session ?? ''
  const head = { sessionId, workerId: fields.worker ?? rootIdOf(sessionId), at: Number(id.split('-')[0]) }
  const events: Omit<RawEvent, 'id'>[] = notes.map(([type, details]) => ({ ...head, type, details: details ?? {} }))
  if (fields.ended !== undefined) {
    const { status, position } = endedOf(fields.ended, fields)
    // The end of a session is the end of a run too; the stream says it once.
    if (fields.events === undefined && status === 'completed' && position !== null) {
      events.push({ ...head, type: 'run.completed', details: {} })
    }
    events.push({ ...head, type: `session.${status}`, details: {}, ended: { status, position } })
  }
  return events.map((event, index) => ({ id: `${id}.${part * partSize + index}`, ...event }))
}

/** `ended` of a stream entry: `<status> <position>`, the second where there is a result. */
export function endedOf(ended: string, { result }: Readonly<Record<string, string>>): Ended {
  const [status, position] = ended.split(' ') as [ResultStatus, string?]
  return { status, position: position === undefined ? null : Number(position), entryJson: result ?? null }
}

const runEnds = /"(?:run\.completed|worker\.failed|worker\.cancelled)"/

/** False only for stream entries with which no run has ended; told without decoding them. */
export function mayEndRun({ ended, events = '' }: Readonly<Record<string, string>>): boolean {
  return ended !== undefined || runEnds.test(events)
}

// Redis counts to 2^64: 19 digits always fit.
const eventIdPattern = /^\d{1,19}(?:-\d{1,19}(?:\.\d{1,19})?)?$/

/** An event's id, or that of a stream entry: after all of its events; or a millisecond alone: after all of that. */
export function isEventId(value: unknown): value is string {
  return typeof value === 'string' && eventIdPattern.test(value)
}

/** Order of event ids; a stream id without a number stands behind all events of its entry. */
export function isEventBefore(a: string, b: string): boolean {
  const [left, right] = [a, b].map((id) => {
    const [entry = '', number] = id.split('.')
    return [...entry.split('-').map(Number), number === undefined ? Number.POSITIVE_INFINITY : Number(number)]
  }) as [number[], number[]]
  for (const place of [0, 1, 2]) {
    const [l = 0, r = 0] = [left[place], right[place]]
    if (l !== r) return l < r
  }
  return false
}

/** The stream id of an event id. */
export function streamIdOf(eventId: string): string {
  return eventId.split('.')[0] as string
}
