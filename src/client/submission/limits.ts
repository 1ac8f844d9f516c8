/** Duty: check the limits that a caller sets: all of them for a new session, those on spending for a session that exists. */
import { didYouMean } from '../../core/check/closest.ts'
import { preview } from '../../core/check/preview.ts'
import { InputError } from '../../core/errors.ts'
import { defaultSpending, hardSessionLimits, limitNames, type SessionLimits, type Spending } from '../../core/policy.ts'

/** Returns the limits of a new session. Each must be a known name and a whole number within the hard limits. */
export function checkLimits(given: Partial<SessionLimits> = {}): Partial<SessionLimits> {
  return checked(given, limitNames, (names) => `the limits are ${names}`)
}

/** Returns the limits on spending of a session that exists. There must be at least one. */
export function checkSpending(given: Partial<Spending>): Partial<Spending> {
  const names = Object.keys(defaultSpending)
  if (typeof given !== 'object' || given === null)
    throw new InputError(`limit takes an object like { modelCalls: 1000 }, not ${preview(given)}.`)
  const limits = checked(given, names, (all) => `only ${all} of an existing session can be changed`)
  if (Object.keys(limits).length === 0)
    throw new InputError(`limit takes one of ${names.join(', ')}, such as { modelCalls: 1000 }.`)
  return limits
}

function checked(given: object, known: readonly string[], rule: (names: string) => string): Partial<SessionLimits> {
  const limits: Record<string, number> = {}
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    if (!known.includes(name)) {
      throw new InputError(`${preview(name)} is not a limit: ${rule(known.join(', '))}.${didYouMean(name, known)}`)
    }
    const most = hardSessionLimits[name as keyof SessionLimits]
    const least = name === 'depth' ? 0 : 1
    if (!Number.isInteger(value) || value < least || value > most) {
      throw new InputError(
        `the limit "${name}" must be a whole number from ${least} to ${most}, not ${preview(value)}.`,
      )
    }
    limits[name] = value
  }
  return limits
}
