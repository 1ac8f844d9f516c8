/**
 * Duty: the facts by which the tools of a survey pass figures to each other: a plan and its parts go down to the readers, summaries come up.
 * SURVEY-FACTS-1 The names contain the depth in the tree, so that a fact of the parent is never mistaken for a reader's own: a reader at depth 2
 *                gets `part-2-7`, and sets `plan-2`, `part-3-1`, `part-3-2`, … and `summary`.
 * SURVEY-FACTS-2 A model passes names and never values. A wrong name makes a reader fail; it makes no figure wrong.
 */
import { type Json, TerminalError, type ToolContext } from 'troupe'
import { z } from 'zod'
import { type Part, partSchema } from '../tree/part.ts'
import { pathTextSchema } from '../tree/path.ts'

/** The plan by which a worker splits its part. Each part is a fact of its own. */
const planSchema = z.object({
  top: pathTextSchema,
  parts: z.int().min(1),
  folders: z.number().min(0),
  hasOwnFolder: z.boolean(),
})

export type PlanFact = z.infer<typeof planSchema>
export type Place = Pick<ToolContext, 'depth' | 'facts'>

export const summaryFact = 'summary'
export const reportFact = 'report'

export function planFactName(depth: number): string {
  return `plan-${depth}`
}

/** Null if this run has not split its part. */
export function planOf({ depth, facts }: Place): PlanFact | null {
  const fact = facts[planFactName(depth)]
  return fact === undefined ? null : planSchema.parse(fact)
}

/** The names of the parts, in the order of the plan. */
export function partNames(depth: number, parts: number): string[] {
  return Array.from({ length: parts }, (_, index) => `part-${depth + 1}-${index + 1}`)
}

/** True for the name of a part that a worker at this depth passes to a reader. */
export function isPartName(name: string, depth: number): boolean {
  return name.startsWith(`part-${depth + 1}-`)
}

export function partOf(fact: Json | undefined, name: string): Part {
  const part = partSchema.safeParse(fact)
  if (part.success) return part.data
  throw new TerminalError(
    `The fact ${name} is not a part of a folder: use a part that \`split_folder\` or \`split_part\` returned.`,
  )
}

/** The part that a reader must measure. Throws a TerminalError unless its parent passed exactly one. */
export function givenPart({ depth, facts }: Place): Part {
  const names = Object.keys(facts).filter((name) => isPartName(name, depth - 1))
  const [name] = names
  if (name !== undefined && names.length === 1) return partOf(facts[name], name)
  const got = names.length === 0 ? 'none' : names.join(', ')
  throw new TerminalError(`A reader needs exactly one part, by its name in "facts"; this one got ${got}.`)
}
