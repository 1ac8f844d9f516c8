/**
 * Duty: add up what a worker's readers measured. If several readers completed the same part, the first one counts.
 * CHILD-SUMMARY-1 Each part is in the summary exactly once: as its reader measured it; as lost, with the reason; or, if it had no reader or its
 *                 reader ended without measuring, as it is read here and now. A step that a model forgets therefore changes no figure.
 */
import type { ChildFacts, ToolContext } from 'troupe'
import { atTop } from '../tree/at-top.ts'
import { isPartName, type PlanFact, partNames, partOf, summaryFact } from './facts.ts'
import { lostSummary, noSummary, reasonOfLoss, seenSummary } from './outcome.ts'
import { readPart } from './reading.ts'
import { mergeSummaries, type Summary, summarySchema } from './summary.ts'

/** The summary of all parts of the plan. */
export function gatheredSummary(plan: PlanFact, context: ToolContext): Summary {
  let summary = seenSummary(plan)
  for (const name of partNames(context.depth, plan.parts)) {
    const read = childSummary(name, context)
    // Parts that were read are not needed any more, so they are left out of the summary.
    if (read !== null) context.setFact(name, null)
    summary = mergeSummaries(summary, read ?? unmeasuredSummary(name, context))
  }
  return summary
}

/** Null unless a reader measured this part and completed. */
export function childSummary(name: string, context: Pick<ToolContext, 'children' | 'depth'>): Summary | null {
  for (const child of readersOf(name, context)) {
    if (child.status !== 'completed') continue
    const summary = summarySchema.safeParse(child.facts[summaryFact])
    if (summary.success) return summary.data
  }
  return null
}

/** A reader with several parts says nothing about a single part. Other facts that it got do not matter. */
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
