/**
 * Duty: write an event as JSON on one line, once however many callers follow. Callers share the text of the details; for an event that is not stored,
 * the text around the details is made for each caller.
 */
import type { TroupeEvent } from '../../core/event/event.ts'

interface Written {
  readonly event: TroupeEvent
  readonly json: string
}

const written = new WeakMap<object, Written>()

export function eventJson(event: TroupeEvent): string {
  const key: object = event.details ?? event
  const known = written.get(key)
  if (known !== undefined && isSame(known.event, event)) return known.json
  const json = JSON.stringify(event)
  written.set(key, { event, json })
  return json
}

/** `id`: an event that is not stored has the id of the last stored event, which may be another one for a slow caller. */
function isSame(one: TroupeEvent, other: TroupeEvent): boolean {
  if (one === other) return true
  const isOf = one.sessionId === other.sessionId && one.workerId === other.workerId && one.type === other.type
  return isOf && one.id === other.id && one.at === other.at && one.ended === other.ended
}
