/** Duty: check names of workers. The name of a session is the name of its root, so the same rule holds. */
import type { Rule } from '../check/check-options.ts'
import { preview } from '../check/preview.ts'
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

/** The name of a child without one: its kind, cut if it is long, and the number of its spawn. */
export function defaultName(kind: string, call: number): string {
  const number = `-${call}`
  return `${kind.slice(0, policy.nameBytesMax - number.length)}${number}`
}

export function checkName(name: string): string {
  if (!nameRule.fits(name))
    throw new InputError(`${preview(name)} is not a valid name of a worker: use ${nameRule.expects}.`)
  return name
}
