/** Duty: what may be the name of a worker, or of a session, which is that of its first one. */
import type { Rule } from '../check/check-options.ts'
import { shown } from '../check/shown.ts'
import { InputError } from '../errors.ts'
import { policy } from '../policy.ts'

/** Names are shown to people and kept in the record. */
export const nameRule: Rule = {
  expects: `a text of 1 to ${policy.nameBytesMax} bytes without control characters`,
  fits: (name) =>
    typeof name === 'string' &&
    name.length > 0 &&
    Buffer.byteLength(name) <= policy.nameBytesMax &&
    !/\p{Cc}/u.test(name),
}

/** Of a child that is given none: its kind and the number of its spawn; a long kind is cut. */
export function defaultName(kind: string, call: number): string {
  const number = `-${call}`
  return `${kind.slice(0, policy.nameBytesMax - number.length)}${number}`
}

export function checkName(name: string): string {
  if (!nameRule.fits(name)) throw new InputError(`${shown(name)} is not a worker name: expected ${nameRule.expects}.`)
  return name
}
