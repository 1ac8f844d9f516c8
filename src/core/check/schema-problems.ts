/**
 * Duty: what a schema finds wrong with a value, as people and models read it: each problem with the path to it, on one line, and no
 * more of them than anybody reads.
 * SP1 A schema of an author that throws, or that must be awaited, finds the value wrong: that is no reason for another try.
 */
import { z } from 'zod'
import { toRuntimeError } from '../errors.ts'

export type Fit<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly reasons: readonly string[] }

interface Problems {
  readonly issues: readonly z.core.$ZodIssue[]
}

const problemsMax = 8
const charsMax = 200

/** What the schema makes of the value, or why it does not fit. Does not throw (SP1). */
export function fitTo<Value>(schema: z.ZodType<Value>, value: unknown): Fit<Value> {
  try {
    // Not `safeParse`: of a schema that must be awaited it leaves the promise to nobody, and one that rejects ends the process.
    const checked = schema._zod.run({ value, issues: [] }, {})
    if (checked instanceof Promise) {
      checked.catch(() => {})
      return unchecked('it is async, and schemas are checked at once')
    }
    if (checked.issues.length === 0) return { ok: true, value: checked.value as Value }
    const issues = checked.issues.map((issue) => z.core.util.finalizeIssue(issue, {}, z.core.config()))
    return { ok: false, reasons: problemsOf({ issues }) }
  } catch (thrown) {
    return unchecked(toRuntimeError(thrown).message)
  }
}

function unchecked(why: string): Fit<never> {
  return { ok: false, reasons: [oneLine(`the schema could not check it: ${why}`)] }
}

/** One line for each problem; of many the first ones, and how many more there are. */
function problemsOf({ issues }: Problems): string[] {
  const more = issues.length - problemsMax
  return [...issues.slice(0, problemsMax).map(problemOf), ...(more > 0 ? [`and ${more} more`] : [])]
}

/** All in one line. */
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

/** A union's own message says nothing: those of its members do. What may be anything but must be there has a word of zod's own. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.expected === 'nonoptional') return 'is missing'
  const members =
    issue.code === 'invalid_union' ? issue.errors.flatMap((issues) => issues.slice(0, 1).map(problemOf)) : []
  return members.length > 0 ? [...new Set(members)].join(', or ') : issue.message.replace(/^Invalid input: /, '')
}
