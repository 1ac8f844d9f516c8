/** Duty: what a handler remembers while its readers work: who has which part, and the summary so far. */
import type { ResultMessage, Self } from 'troupe'
import { z } from 'zod'
import type { Plan } from '../../../../workers/_survey/plan/plan.ts'
import { lostSummary, noSummary, reasonOfLoss, seenSummary } from '../../../../workers/_survey/summary/outcome.ts'
import { mergeSummaries, type Summary, summarySchema } from '../../../../workers/_survey/summary/summary.ts'
import { namePart, type Part, partSchema } from '../../../../workers/_survey/tree/part.ts'

export const gatheringSchema = z.object({
  /** Parts by the id of the worker that reads them. */
  waiting: z.record(z.string(), partSchema),
  summary: summarySchema,
})

export type Batcher = z.infer<typeof gatheringSchema>

/** A worker that has others read its parts: they are spawned, and what it saw itself is the summary so far. */
export function spawnReaders(self: Pick<Self, 'spawn'>, plan: Extract<Plan, { kind: 'split' }>): Batcher {
  const waiting: Record<string, Part> = {}
  for (const part of plan.parts) waiting[self.spawn('reader', part, { name: namePart(part) }).id] = part
  return { waiting, summary: seenSummary(plan) }
}

export function gather(batcher: Batcher, message: ResultMessage): Batcher {
  const { [message.from]: part, ...waiting } = batcher.waiting
  // A result of another child, or one that came again.
  if (part === undefined) return batcher
  return { waiting, summary: mergeSummaries(batcher.summary, summaryOf(part, message)) }
}

function summaryOf(part: Part, message: ResultMessage): Summary {
  if (message.status !== 'completed') {
    return lostSummary(part, reasonOfLoss(message.status, message.failure?.message ?? ''))
  }
  const read = summarySchema.safeParse(message.value)
  return read.success ? read.data : lostSummary(part, noSummary)
}

export function isGathered(batcher: Batcher): boolean {
  return Object.keys(batcher.waiting).length === 0
}
