/**
 * Duty: turn a plan into facts and into tasks that a model can pass unchanged to `spawn_workers`.
 * SHARING-1 A part that this run has already split is not planned again, because its readers may be working by the first plan.
 */
import type { ToolContext } from 'troupe'
import { childSummary } from '../summary/child-summary.ts'
import { type PlanFact, partNames, partOf, planFactName, planOf } from '../summary/facts.ts'
import { namePart } from '../tree/part.ts'
import type { PathText } from '../tree/path.ts'
import type { Plan } from './plan.ts'

export interface Tasks {
  readonly note: string
  /** The arguments of the tool with this name. */
  readonly spawn_workers: {
    readonly tasks: readonly {
      readonly kind: 'reader'
      readonly name: string
      readonly input: string
      readonly facts: readonly string[]
    }[]
  }
}

/** Large enough for as many tasks as one worker of a session may have children. */
export const tasksBytesMax = 1_000_000

/** Sets the plan and its parts as facts. */
export function shareOutParts(top: PathText, plan: Extract<Plan, { kind: 'split' }>, context: ToolContext): Tasks {
  const { parts, folders, hasOwnFolder } = plan
  const names = partNames(context.depth, parts.length)
  const facts = Object.fromEntries(names.map((name, index) => [name, parts[index] ?? null]))
  const fact: PlanFact = { top, parts: parts.length, folders, hasOwnFolder }
  context.setFact(planFactName(context.depth), fact)
  for (const [name, part] of Object.entries(facts)) context.setFact(name, part)
  return tasksOf(names, { ...context.facts, ...facts })
}

/** The remaining tasks of a plan that this run made before. Null if there is no such plan. */
export function sharedBefore(context: ToolContext): Tasks | string | null {
  const plan = planOf(context)
  if (plan === null) return null
  const open = partNames(context.depth, plan.parts).filter((name) => childSummary(name, context) === null)
  return open.length === 0 ? 'This was split before, and all parts are read.' : tasksOf(open, context.facts)
}

function tasksOf(names: readonly string[], facts: ToolContext['facts']): Tasks {
  const tasks = names.map((name) => {
    const part = partOf(facts[name], name)
    return { kind: 'reader' as const, name: namePart(part), input: 'Survey your part.', facts: [name] }
  })
  const count = names.length === 1 ? 'There is 1 part' : `There are ${names.length} parts`
  return { note: `${count} to read, one for each reader.`, spawn_workers: { tasks } }
}
