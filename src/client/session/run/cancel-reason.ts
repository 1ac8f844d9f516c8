/** Duty: check the reason that a caller gives for a cancel. */
import { preview } from '../../../core/check/preview.ts'
import { InputError } from '../../../core/errors.ts'
import { policy } from '../../../core/policy.ts'

export const defaultReason = 'cancelled by the caller'

export function checkReason(reason: unknown): void {
  if (typeof reason === 'string' && Buffer.byteLength(reason) <= policy.reasonBytesMax) return
  throw new InputError(
    `reason of cancel must be a text of at most ${policy.reasonBytesMax} bytes, not ${preview(reason)}.`,
  )
}
