/**
 * Duty: check options that callers passed. A misspelt name or a value of a wrong type gives one sentence that names it.
 * CHECK-1 The rules name every option of a type, so that the compiler reports an option without a rule. Undefined means absent; null does not.
 * CHECK-2 No zod schemas are used here, because sessions are created by the thousand in a second.
 */

import type { ConfigError, InputError } from '../errors.ts'
import { didYouMean } from './closest.ts'
import { isObject } from './is-object.ts'
import { preview } from './preview.ts'

export interface Rule {
  /** The words that come after "must be" in the error. */
  readonly expects: string
  /** The value may hold a password: an error never quotes it. */
  readonly isSecret?: boolean
  readonly isRequired?: boolean
  fits(value: unknown): boolean
}

export type Rules<Options> = { readonly [Name in keyof Required<Options>]: Rule }

type OptionError = typeof ConfigError | typeof InputError

/** `call` names the called function in the error, which has the class `Problem`. */
export function checkOptions(
  call: string,
  options: unknown,
  rules: Readonly<Record<string, Rule>>,
  Problem: OptionError,
): void {
  if (!isObject(options)) {
    const what = holdsText(options) ? '' : `, not ${preview(options)}`
    throw new Problem(`${call} takes an object with ${Object.keys(rules).join(', ')}${what}.`)
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(rules, name)) throw new Problem(unknownOption(call, name, Object.keys(rules)))
  }
  for (const name in rules) {
    const value = options[name]
    const rule = rules[name] as Rule
    if ((value === undefined && !rule.isRequired) || rule.fits(value)) continue
    const what = rule.isSecret && holdsText(value) ? '' : `, not ${preview(value)}`
    throw new Problem(`${name} of ${call} must be ${rule.expects}${what}.`)
  }
}

/** Such a value may be an address with a password, so errors do not quote it. */
function holdsText(value: unknown): boolean {
  return typeof value === 'string' || Array.isArray(value)
}

function unknownOption(call: string, name: string, known: readonly string[]): string {
  return `${call} does not know the option ${preview(name)}; it takes ${known.join(', ')}.${didYouMean(name, known)}`
}

/** The rule for a value that is checked elsewhere, or not at all. */
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

export function oneOfRule(words: readonly string[]): Rule {
  return { expects: `one of ${words.join(', ')}`, fits: (value) => words.includes(value as string) }
}

export function wholeNumberRule(least: number, most: number): Rule {
  return {
    expects: `a whole number from ${least} to ${most}`,
    fits: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
  }
}
