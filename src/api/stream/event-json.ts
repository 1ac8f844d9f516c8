/** Duty: an event as JSON on one line, written once however many callers follow. */
import type { TroupeEvent } from '../../core/event/event.ts'

const written = new WeakMap<object, string>()

export function eventJson(event: TroupeEvent): string {
  let json = written.get(event)
  if (json === undefined) {
    json = JSON.stringify(event)
    written.set(event, json)
  }
  return json
}
