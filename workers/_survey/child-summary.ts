/**
 * Duty: adds up what a worker's readers measured. The first that completed with a part counts for it.
 * B1 Each part ends in the summary exactly once: as what its reader measured, as lost with the reason, or, where no reader was given
 *    it or its reader ended without measuring, as what is read here and now. So a step that a model forgets changes no number.
 */
import type { ChildFacts, ToolContext } from 'troupe'
import { atTop } from './at-top.ts'
import { isPartName, type PlanFact, partNames, partOf, summaryFact } from './facts.ts'
import { lostSummary, noSummary, reasonOfLoss, seenSummary } from './outcome.ts'
import { readPart } from './reading.ts'
import { mergeSummaries, type Summary, summarySchema } from './summary.ts'

/** The summary of what was shared out by the plan. */
export function gatheredSummary(plan: PlanFact, context: ToolContext): Summary {
  let summary = seenSummary(plan)
  for (const name of partNames(context.depth, plan.parts)) {
    const read = childSummary(name, context)
    // What was read is not asked for any more: the parts need not travel along with the summary.
    if (read !== null) context.setFact(name, null)
    summary = mergeSummaries(summary, read ?? unmeasuredSummary(name, context))
  }
  return summary
}

/** Null unless a reader completed with this part and measured it. */
export function childSummary(name: string, context: Pick<ToolContext, 'children' | 'depth'>): Summary | null {
  for (const child of readersOf(name, context)) {
    if (child.status !== 'completed') continue
    const summary = summarySchema.safeParse(child.facts[summaryFact])
    if (summary.success) return summary.data
  }
  return null
}

/** A reader that was given several parts says nothing about each; what else it was given does not matter. */
function readersOf(name: string, { children, depth }: Pick<ToolContext, 'children' | 'depth'>): ChildFacts[] {
  return children.filter(({ given }) => {
    const parts = given.filter((each) => isPartName(each, depth))
    return parts.length === 1 && parts[0] === name
  })
}

function unmeasuredSummary(name: string, context: ToolContext): Summary {
  const part = partOf(context.facts[name], name)
  for (const child of readersOf(name, context)) {
    if (child.status !== 'completed') return lostSummary(part, reasonOfLoss(child.status, child.failure ?? ''))
    if (child.facts[summaryFact] !== undefined) return lostSummary(part, noSummary)
  }
  const read = atTop(part.top, (top) => readPart(top, part, () => context.signal.throwIfAborted()))
  if (read.kind === 'unopened') return lostSummary(part, read.reason)
  // This worker has been counted already.
  return { ...read.value, counts: { ...read.value.counts, workers: 0 } }
}
