/**
 * Duty: check a value against a schema, and say what is wrong in words for people and models: each problem with its path, on one line, and
 * only as many problems as anybody reads.
 * SCHEMA-1 If an author's schema throws or is asynchronous, the value counts as wrong. It is not an error that could be retried.
 */
import { z } from 'zod'
import { toRuntimeError } from '../errors.ts'

export type Fit<Value> =
  | { readonly ok: true; readonly value: Value }
  /** `thrown`: by the schema itself, so that its author finds the place. */
  | { readonly ok: false; readonly reasons: readonly string[]; readonly thrown?: unknown }

interface Problems {
  readonly issues: readonly z.core.$ZodIssue[]
}

const problemsMax = 8
const charsMax = 200

/** The value that the schema returns, or why the value does not fit. Does not throw (SCHEMA-1). */
export function fitTo<Value>(schema: z.ZodType<Value>, value: unknown): Fit<Value> {
  try {
    // Not `safeParse`: it drops the promise of an asynchronous schema, and if that promise rejects, the process ends.
    const checked = schema._zod.run({ value, issues: [] }, {})
    if (checked instanceof Promise) {
      checked.catch(() => {})
      return unchecked('it is asynchronous, but schemas must answer at once')
    }
    if (checked.issues.length === 0) return { ok: true, value: checked.value as Value }
    const issues = checked.issues.map((issue) => z.core.util.finalizeIssue(issue, {}, z.core.config()))
    return { ok: false, reasons: problemsOf({ issues }) }
  } catch (thrown) {
    return { ...unchecked(toRuntimeError(thrown).message), thrown }
  }
}

function unchecked(why: string): Fit<never> & { readonly ok: false } {
  return { ok: false, reasons: [oneLine(`the schema could not check it: ${why}`)] }
}

/** One line for each problem. If there are many, the first ones and the number of the others. */
function problemsOf({ issues }: Problems): string[] {
  const more = issues.length - problemsMax
  return [...issues.slice(0, problemsMax).map(problemOf), ...(more > 0 ? [`and ${more} more`] : [])]
}

/** All problems in one line. */
export function problemText(problems: Problems): string {
  return problemsOf(problems).join('; ')
}

function problemOf(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join('.')
  return oneLine(path === '' ? messageOf(issue) : `${path}: ${messageOf(issue)}`)
}

function oneLine(lines: string): string {
  const text = lines.replace(/\s+/g, ' ')
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()} …`
}

/** The message of a union says nothing useful, so those of its members are used. Zod calls a missing required value `nonoptional`. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.expected === 'nonoptional') return 'is missing'
  const members =
    issue.code === 'invalid_union' ? issue.errors.flatMap((issues) => issues.slice(0, 1).map(problemOf)) : []
  return members.length > 0 ? [...new Set(members)].join(', or ') : issue.message.replace(/^Invalid input: /, '')
}
