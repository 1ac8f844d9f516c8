/**
 * Duty: list all types of events. An event is a past-tense fact, `noun.verb`. An entry of the stream holds all events of one script
 * (core/event/event-notes.ts has its form). A follower resumes from the id of an event. Events are for watching; decisions are made by records
 * only.
 */
import type { ResultStatus, RunResult } from '../history/entry.ts'
import type { EventDetails } from './event-details.ts'

/** Published to those who follow now, never stored. */
const neverStored = [
  'worker.stateChanged',
  'worker.logged',
  'iteration.completed',
  'text.delta',
  'reasoning.delta',
  'tool.progress',
] as const satisfies readonly EventType[]

export type EventType = keyof EventDetails

/** All others. The compiler compares the list with `EventDetails`, which has what each type says. */
const listed: Readonly<Record<Exclude<EventType, (typeof neverStored)[number]>, true>> = {
  'session.created': true,
  'session.completed': true,
  'session.failed': true,
  'session.retried': true,
  'session.forked': true,
  'session.limited': true,
  'session.approvalChanged': true,
  'session.paused': true,
  'session.resumed': true,
  'session.closeRequested': true,
  'session.cancelRequested': true,
  'session.cancelled': true,
  'worker.spawned': true,
  'worker.failed': true,
  'worker.cancelRequested': true,
  'worker.cancelled': true,
  'ask.opened': true,
  'ask.answered': true,
  'ask.expired': true,
  'message.accepted': true,
  'message.consumed': true,
  'message.deadLettered': true,
  'message.redriven': true,
  'message.undelivered': true,
  'turn.retried': true,
  'worker.interrupted': true,
  'worker.blocked': true,
  'run.started': true,
  'run.completed': true,
  'run.warned': true,
  'step.recorded': true,
  'model.replied': true,
  'model.blanked': true,
  'context.compacted': true,
  'compaction.failed': true,
  'context.cleared': true,
  'context.changed': true,
  'worker.configured': true,
  'tool.started': true,
  'tool.succeeded': true,
  'tool.failed': true,
  'tool.unknown': true,
  // Not stored: it tells a follower that some events it asked for have been deleted.
  'events.trimmed': true,
  // Not stored: it tells a follower that it was too slow for some transient events.
  'events.dropped': true,
}

export const eventTypes: readonly EventType[] = [...(Object.keys(listed) as (keyof typeof listed)[]), ...neverStored]

/** `tool.started` is transient unless the effect of its tool is `once`, and `run.warned` if it tells of what happens after the last commit of its turn. */
export const transientTypes = [...neverStored, 'tool.started', 'run.warned'] as const
export type TransientType = (typeof transientTypes)[number]

/** The types whose events may have no details. */
type BareType = {
  [Type in EventType]: Readonly<Record<string, never>> extends EventDetails[Type] ? Type : never
}[EventType]
type NoteOf<Type extends EventType> = readonly [type: Type, details: EventDetails[Type]]

/** What the runtime writes about an event. */
export type EventNote = readonly [type: BareType] | { [Type in EventType]: NoteOf<Type> }[EventType]

/** How a session ended, according to its event. */
export interface Ended {
  readonly status: ResultStatus
  /** Position of the result in the root's history. Null if the event does not name it. */
  readonly position: number | null
  /** The result, if the event before this one holds it; then nobody needs to ask for it. Otherwise null. */
  readonly result: RunResult | null
}

export interface EventHead {
  /** `<stream id>.<number within the entry>`. A follower resumes after it. A transient event has the id of the stored event before it. */
  readonly id: string
  readonly sessionId: string
  readonly workerId: string
  /** Milliseconds since 1970, by the clock of Redis; for an event that is not stored, by the clock of the follower. */
  readonly at: number
  /** Set on events that are not stored (`transientTypes`). */
  readonly transient?: true
  /** Set on the event with which the session ended. */
  readonly ended?: Pick<Ended, 'status' | 'position'>
}

/** An event as it is read. The details are not checked, and a newer version of troupe may have written an unknown type. */
export interface RawEvent extends EventHead {
  readonly type: EventType
  readonly details: Readonly<Record<string, unknown>>
}

/** An event as a follower gets it: `type` determines `details`. Types that this version does not know are passed on too: be ready for them. */
export type TroupeEvent = {
  [Type in EventType]: EventHead & { readonly type: Type; readonly details: EventDetails[Type] }
}[EventType]

// Redis counts to 2^64: 19 digits always fit.
const eventIdPattern = /^\d{1,19}(?:-\d{1,19}(?:\.\d{1,19})?)?$/

/** The id of an event; or of a stream entry, meaning after all of its events; or a millisecond alone, meaning after all events of it. */
export function isEventId(value: unknown): value is string {
  return typeof value === 'string' && eventIdPattern.test(value)
}

/** Compares event ids. The id of a stream entry stands behind all events of that entry. */
export function isEventBefore(a: string, b: string): boolean {
  const [left, right] = [placeOf(a), placeOf(b)]
  if (left.ms !== right.ms) return left.ms < right.ms
  return left.sequence === right.sequence ? left.part < right.part : left.sequence < right.sequence
}

/** Each event that arrives is compared, so nothing is split here. */
function placeOf(id: string) {
  const [dash, dot] = [id.indexOf('-'), id.indexOf('.')]
  const endOfEntry = dot === -1 ? id.length : dot
  return {
    ms: Number(id.slice(0, dash === -1 ? endOfEntry : dash)),
    sequence: dash === -1 ? Number.POSITIVE_INFINITY : Number(id.slice(dash + 1, endOfEntry)),
    part: dot === -1 ? Number.POSITIVE_INFINITY : Number(id.slice(dot + 1)),
  }
}

/** The stream id of an event id. */
export function streamIdOf(eventId: string): string {
  return eventId.split('.')[0] as string
}
