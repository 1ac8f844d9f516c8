/**
 * Duty: check a value against a schema, and say what is wrong in words for people and models: each problem with its path, on one line, and
 * only as many problems as anybody reads.
 * SCHEMA-1 If an author's schema throws or is asynchronous, the value counts as wrong. It is not an error that could be retried.
 * SCHEMA-2 A schema may come from another copy of zod, from 4.0 on. What its issues leave out is found in the schema, or said in other words:
 *          no problem is only "Invalid input".
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

/** How every version of zod marks an issue of a discriminated union. */
const noVariant = 'No matching discriminator'
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
    const issues = checked.issues.map((issue) => z.core.util.finalizeIssue(withOptions(issue), {}, z.core.config()))
    return { ok: false, reasons: problemsOf({ issues }) }
  } catch (thrown) {
    return { ...unchecked(toRuntimeError(thrown).message), thrown }
  }
}

/** Up to zod 4.3 an issue of a discriminated union names no options. They are in the schema that made the issue (SCHEMA-2). */
function withOptions(issue: z.core.$ZodRawIssue): z.core.$ZodRawIssue {
  if (issue.code !== 'invalid_union' || issue.note !== noVariant || issue.options !== undefined) return issue
  const { discriminator, options } = (issue.inst as unknown as z.core.$ZodDiscriminatedUnion)._zod.def
  return { ...issue, options: options.flatMap((option) => [...(option._zod.propValues?.[discriminator] ?? [])]) }
}

function unchecked(why: string): Fit<never> & { readonly ok: false } {
  return { ok: false, reasons: [oneLine(`the schema could not check it: ${why}`)] }
}

/** Makes one line of each problem. If there are many problems, it gives the first ones and the number of the others. */
function problemsOf({ issues }: Problems): string[] {
  const more = issues.length - problemsMax
  return [...issues.slice(0, problemsMax).map(problemOf), ...(more > 0 ? [`and ${more} more`] : [])]
}

/** Puts all problems into one line. */
export function problemText(problems: Problems): string {
  return problemsOf(problems).join('; ')
}

function problemOf(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join('.')
  return oneLine(path === '' ? messageOf(issue) : `${path}: ${messageOf(issue)}`)
}

/** No longer than anybody reads. */
export function oneLine(lines: string): string {
  const text = lines.replace(/\s+/g, ' ')
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()} …`
}

/**
 * What a union says by itself is of no use, so the messages of its members are. Zod calls a missing required value `nonoptional`, and a text that a schema
 * could not make a number NaN, which nobody sent.
 */
export function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.expected === 'nonoptional') return 'is missing'
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') {
    const members = issue.errors.flatMap((issues) => issues.slice(0, 1).map(problemOf))
    if (members.length > 0) return [...new Set(members)].join(', or ')
  }
  const message =
    issue.message === 'Invalid input'
      ? plainly(issue)
      : issue.message.replace(/^Invalid input: /, '').replace(/ NaN$/, ' no number')
  const within = issue.code === 'invalid_key' || issue.code === 'invalid_element' ? issue.issues : []
  return within.length === 0 ? message : `${message}: ${messageOf(within[0] as z.core.$ZodIssue)}`
}

/** The message for an issue that another copy of zod made within a union, and that has no message of its own (SCHEMA-2). */
function plainly(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `expected ${issue.expected}`
  if (issue.code === 'custom') return 'a check of the schema refused it'
  if (issue.code === 'invalid_union' && 'note' in issue && issue.note === noVariant) return 'no variant has this value'
  if (issue.code === 'invalid_format' && issue.pattern !== undefined) return `must match ${issue.pattern}`
  const named = z.core.config().localeError?.(issue as z.core.$ZodRawIssue)
  const text = (typeof named === 'string' ? named : named?.message) ?? 'Invalid input'
  return text === 'Invalid input' ? 'does not fit the schema' : text.replace(/^Invalid input: /, '')
}
