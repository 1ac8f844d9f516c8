/**
 * Duty: the one catalogue of events. Past-tense facts, `noun.verb`; one stream entry per commit holds all that it changed, as a
 * JSON array of [type, details]. The stream id is the event id from which a follower resumes. An event is for watching, never for
 * deciding: records decide.
 */
import type { ResultStatus } from './entry.ts'
import { rootIdOf } from './ids.ts'

export const eventTypes = [
  'session.created',
  'session.completed',
  'session.failed',
  'session.cancelRequested',
  'session.cancelled',
  'worker.spawned',
  'worker.stateChanged',
  'worker.failed',
  'worker.cancelled',
  'message.accepted',
  'message.consumed',
  'message.deadLettered',
  'turn.parked',
  'turn.retried',
  'run.started',
  'run.completed',
  // Not in the stream: a follower is told that events it asked for are no longer kept.
  'events.trimmed',
] as const

export type EventType = (typeof eventTypes)[number]

export type EventNote = readonly [type: EventType, details?: Readonly<Record<string, unknown>>]

/** How a session ended. */
export interface Ended {
  readonly status: ResultStatus
  /** Position of the result in the root's history; null when the event does not say. */
  readonly position: number | null
}

export interface TroupeEvent {
  /** Stream id: resume after it. */
  readonly id: string
  readonly type: EventType
  readonly sessionId: string
  readonly workerId: string
  /** Milliseconds since the epoch, by Redis's clock. */
  readonly at: number
  readonly details: Readonly<Record<string, unknown>>
  /** Set on the event with which the session ended. */
  readonly ended?: Ended
}

export function encodeEvents(notes: readonly EventNote[]): string {
  return JSON.stringify(notes)
}

/** One stream entry as events. Types written by a newer troupe are passed on as they are. */
export function decodeEvents(id: string, fields: Readonly<Record<string, string>>): TroupeEvent[] {
  const notes = JSON.parse(fields.events ?? '[]') as EventNote[]
  const head = {
    id,
    sessionId: fields.session ?? '',
    workerId: fields.worker ?? rootIdOf(fields.session ?? ''),
    at: Number(id.split('-')[0]),
  }
  const events: TroupeEvent[] = notes.map(([type, details]) => ({ ...head, type, details: details ?? {} }))
  if (fields.ended === undefined) return events
  const [status, position] = fields.ended.split(' ') as [ResultStatus, string?]
  const ended: Ended = { status, position: position === undefined ? null : Number(position) }
  // The end of a session is the end of a run too; the stream says it once.
  if (fields.events === undefined && status === 'completed' && position !== undefined) {
    events.push({ ...head, type: 'run.completed', details: {} })
  }
  return [...events, { ...head, type: `session.${status}`, details: {}, ended }]
}
