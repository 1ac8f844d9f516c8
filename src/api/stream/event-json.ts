/**
 * Duty: an event as JSON on one line, written once however many callers follow. They have the details of it in common; what stands around the details of an
 * event that is not stored is made for each.
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

/** `id`: what is not stored has that of the last stored event, which may be another one for a caller that is slow. */
function isSame(one: TroupeEvent, other: TroupeEvent): boolean {
  if (one === other) return true
  const isOf = one.sessionId === other.sessionId && one.workerId === other.workerId && one.type === other.type
  return isOf && one.id === other.id && one.at === other.at && one.ended === other.ended
}
