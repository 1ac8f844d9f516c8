/**
 * Duty: the one catalogue of events. Past-tense facts, `noun.verb`; a stream entry holds all that one script changed (its form:
 * core/event/event-notes.ts). The stream id is the event id from which a follower resumes. An event is for watching, never for deciding:
 * records decide.
 */
import type { ResultStatus, RunResult } from '../history/entry.ts'
import type { EventDetails } from './event-details.ts'

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

/** The types whose events need tell nothing beside it. */
type BareType = {
  [Type in EventType]: Readonly<Record<string, never>> extends EventDetails[Type] ? Type : never
}[EventType]
type NoteOf<Type extends EventType> = readonly [type: Type, details: EventDetails[Type]]

/** What is written of an event. */
export type EventNote = readonly [type: BareType] | { [Type in EventType]: NoteOf<Type> }[EventType]

/** How a session ended, as its event says it. */
export interface Ended {
  readonly status: ResultStatus
  /** Position of the result in the root's history; null when the event does not say. */
  readonly position: number | null
  /** Spares who waits for the result a question, where the event before this one has it; else null. */
  readonly result: RunResult | null
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
