/**
 * Duty: the facts by which figures flow between the tools of a survey: a plan and its parts go down to the readers, summaries come up.
 * N1 The names say how deep in the tree a fact was established, so that what a reader was given is never taken for its own:
 *    at depth 2 a reader is given `part-2-7`, and establishes `plan-2`, `part-3-1`, `part-3-2`, … and `summary`.
 * N2 A model passes names on and never values; a name it passes on wrongly makes a reader fail, and no figure wrong.
 */
import { type Json, TerminalError, type ToolContext } from 'troupe'
import { z } from 'zod'
import { type Part, partSchema } from './part.ts'
import { pathTextSchema } from './path.ts'

/** What a worker keeps of the plan by which it shares its part out; the parts themselves are facts of their own. */
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

/** Null if nothing was shared out in this run. */
export function planOf({ depth, facts }: Place): PlanFact | null {
  const fact = facts[planFactName(depth)]
  return fact === undefined ? null : planSchema.parse(fact)
}

/** What its parts are called, in the order of the plan. */
export function partNames(depth: number, parts: number): string[] {
  return Array.from({ length: parts }, (_, index) => `part-${depth + 1}-${index + 1}`)
}

/** Is this what a worker at this depth calls a part it gives to a reader? */
export function isPartName(name: string, depth: number): boolean {
  return name.startsWith(`part-${depth + 1}-`)
}

export function partOf(fact: Json | undefined, name: string): Part {
  const part = partSchema.safeParse(fact)
  if (part.success) return part.data
  throw new TerminalError(
    `The fact ${name} is no part of a folder: only what \`split_folder\` and \`split_part\` gave is.`,
  )
}

/** The part a reader is responsible for. Throws a TerminalError if it was not given exactly one. */
export function givenPart({ depth, facts }: Place): Part {
  const names = Object.keys(facts).filter((name) => isPartName(name, depth - 1))
  const [name] = names
  if (name !== undefined && names.length === 1) return partOf(facts[name], name)
  const given = names.length === 0 ? 'none' : names.join(', ')
  throw new TerminalError(`A reader is given exactly one part, by its name in "facts"; this one was given ${given}.`)
}
