/**
 * Duty: options as callers gave them: a misspelt name, or a value of a wrong sort, is one sentence that names it.
 * A list of rules names every option there is, so that a new one cannot be forgotten. Undefined is the same as absent; null is not.
 * No schemas here: sessions are created by the thousand in a second.
 */

import type { ConfigError, InputError } from '../errors.ts'
import { didYouMean } from './closest.ts'
import { isObject } from './is-object.ts'
import { shown } from './shown.ts'

export interface Rule {
  /** Ends the sentence "… must be". */
  readonly expects: string
  /** May hold a password: a text that does not fit is not shown. */
  readonly isSecret?: boolean
  readonly isRequired?: boolean
  fits(value: unknown): boolean
}

export type Rules<Options> = { readonly [Name in keyof Required<Options>]: Rule }

type Refused = typeof ConfigError | typeof InputError

/** `call` is the name of what was called. Throws the given error. */
export function checkOptions(
  call: string,
  given: unknown,
  rules: Readonly<Record<string, Rule>>,
  Refused: Refused,
): void {
  if (!isObject(given)) {
    const what = holdsText(given) ? '' : `, not ${shown(given)}`
    throw new Refused(`${call} takes an object with ${Object.keys(rules).join(', ')}${what}.`)
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(rules, name)) throw new Refused(unknownOption(call, name, Object.keys(rules)))
  }
  for (const name in rules) {
    const value = given[name]
    const rule = rules[name] as Rule
    if ((value === undefined && !rule.isRequired) || rule.fits(value)) continue
    const what = rule.isSecret && holdsText(value) ? '' : `, not ${shown(value)}`
    throw new Refused(`${name} of ${call} must be ${rule.expects}${what}.`)
  }
}

/** It may be an address with a password. */
function holdsText(value: unknown): boolean {
  return typeof value === 'string' || Array.isArray(value)
}

function unknownOption(call: string, name: string, known: readonly string[]): string {
  return `${call} does not know the option ${shown(name)}; it takes ${known.join(', ')}.${didYouMean(name, known)}`
}

/** What is checked elsewhere, or not at all. */
export const anything: Rule = { expects: 'anything', fits: () => true }

export const yesOrNo: Rule = { expects: 'true or false', fits: (value) => typeof value === 'boolean' }

export const keyRule: Rule = {
  expects: 'a text that is not empty',
  fits: (value) => typeof value === 'string' && value !== '',
}

export const signalRule: Rule = {
  expects: 'an AbortSignal',
  fits: (value) => isObject(value) && typeof value.addEventListener === 'function',
}

export function wholeNumberRule(least: number, most: number): Rule {
  return {
    expects: `a whole number from ${least} to ${most}`,
    fits: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
  }
}
