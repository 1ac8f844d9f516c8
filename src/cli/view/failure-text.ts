/** Duty: a recorded failure in words. */
import type { Failure } from '../../core/worker/failure.ts'

/** `handler_failed (handler, after 3 tries): what happened` */
export function failureSentence({ code, message, origin, attempt }: Failure): string {
  const tries = attempt > 1 ? `, after ${attempt} tries` : ''
  return `${code} (${origin}${tries}): ${message}`
}

/** `handler_failed: what happened`, where the rest is said beside it. */
export function failureCause({ code, message }: Failure): string {
  return `${code}: ${message}`
}
