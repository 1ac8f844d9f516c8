/** Duty: check where the result of a session is to go. */
import { InputError } from '../../core/errors.ts'
import { encodeNotify, type Notify, notifyProblem } from '../../core/worker/notify.ts'

/** Undefined if it goes nowhere. */
export function notifyText(notify: Notify | undefined): string | undefined {
  if (notify === undefined) return undefined
  const problem = notifyProblem(notify)
  if (problem !== null) throw new InputError(`notify ${problem}.`)
  return encodeNotify(notify)
}
