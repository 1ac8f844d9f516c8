/** Duty: what may be the name of a worker. */
import { InputError } from '../core/errors.ts'
import { policy } from '../core/policy.ts'

/** Names are shown to people and kept in the record: at most 64 bytes, no control characters. */
export function checkName(name: unknown): string {
  if (
    typeof name !== 'string' ||
    name.length === 0 ||
    Buffer.byteLength(name) > policy.nameBytesMax ||
    /\p{Cc}/u.test(name)
  ) {
    throw new InputError(
      `${JSON.stringify(String(name).slice(0, 80))} is not a worker name: 1 to ${policy.nameBytesMax} bytes without control characters.`,
    )
  }
  return name
}
