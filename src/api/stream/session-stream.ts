/**
 * Duty: the events of one session for one caller: which of them, from where on, and what happens if the caller is slow.
 * SESSION-STREAM-1 Each stored event that the caller asked for comes once, in order, also if it was slow: then the events that waited are read anew
 *                  from Redis, so that none of them waits in this process.
 * SESSION-STREAM-2 A caller that was slow is told that transient events are missing.
 */
import type { Session } from '../../client/session/session.ts'
import type { TroupeEvent } from '../../core/event/event.ts'
import { eventJson } from './event-json.ts'
import type { SseWriter } from './sse.ts'

export interface StreamQuery {
  /** The id of the event before the first one. Undefined: from now on. */
  readonly after: string | undefined
  readonly transient: boolean
  /** False for events that this caller did not ask for. */
  readonly wants: (event: TroupeEvent) => boolean
}

export async function followSession(
  session: Session,
  writer: SseWriter,
  { after, transient, wants }: StreamQuery,
  signal: AbortSignal,
): Promise<void> {
  for (let from = after; ; ) {
    const lagged = await writeEvents(session.events({ after: from, transient, signal }), writer, wants)
    if (lagged === null) return
    await writer.drained(signal)
    from = lagged.id
    const gone: TroupeEvent = { ...lagged, type: 'events.dropped', details: { count: 0 }, transient: true }
    if (transient) writer.send({ type: gone.type, json: JSON.stringify(gone) })
  }
}

/** Returns the last event that was written if the caller lags; null at the end of the events. */
async function writeEvents(
  events: AsyncGenerator<TroupeEvent, void, undefined>,
  writer: SseWriter,
  wants: StreamQuery['wants'],
): Promise<TroupeEvent | null> {
  for await (const event of events) {
    // The position moves on also over events that this caller does not want.
    if (wants(event)) writer.send({ id: event.id, type: event.type, json: eventJson(event) })
    if (writer.lags && !event.ended) return event
  }
  return null
}
