/**
 * Duty: what a schema finds wrong with a value, as people and models read it: each problem with the path to it, on one line, and no
 * more of them than anybody reads.
 */
import type { z } from 'zod'

interface Problems {
  readonly issues: readonly z.core.$ZodIssue[]
}

const problemsMax = 8
const charsMax = 200

/** One line for each problem; of many the first ones, and how many more there are. */
export function problemsOf({ issues }: Problems): string[] {
  const more = issues.length - problemsMax
  return [...issues.slice(0, problemsMax).map(problemOf), ...(more > 0 ? [`and ${more} more`] : [])]
}

/** All in one line. */
export function problemText(problems: Problems): string {
  return problemsOf(problems).join('; ')
}

function problemOf(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join('.')
  const text = (path === '' ? messageOf(issue) : `${path}: ${messageOf(issue)}`).replace(/\s+/g, ' ')
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()} …`
}

/** A union's own message says nothing: those of its members do. */
function messageOf(issue: z.core.$ZodIssue): string {
  const members =
    issue.code === 'invalid_union' ? issue.errors.flatMap((issues) => issues.slice(0, 1).map(problemOf)) : []
  return members.length > 0 ? [...new Set(members)].join(', or ') : issue.message.replace(/^Invalid input: /, '')
}
