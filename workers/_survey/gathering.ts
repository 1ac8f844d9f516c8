/**
 * Duty: what a worker remembers while its readers work: who has which part, and the summary so far. Shared by both kinds.
 * B1 Each part ends in the summary exactly once: as what its reader replied, or as lost with the reason.
 */
import type { ResultMessage, Self } from 'troupe'
import { z } from 'zod'
import { describePart, namePart, type Part, partSchema } from './part.ts'
import type { Plan } from './plan.ts'
import { emptySummary, mergeSummaries, noCounts, type Summary, summarySchema } from './summary.ts'

export const gatheringSchema = z.object({
  /** Parts by the id of the worker that reads them. */
  waiting: z.record(z.string(), partSchema),
  summary: summarySchema,
})

export type Gathering = z.infer<typeof gatheringSchema>

const reasonCharsMax = 200

/** A worker that has others read its parts: they are spawned, and what it saw itself is the summary so far. */
export function spawnReaders(self: Pick<Self, 'spawn'>, plan: Extract<Plan, { kind: 'split' }>): Gathering {
  const waiting: Record<string, Part> = {}
  for (const part of plan.parts) waiting[self.spawn('reader', part, { name: namePart(part) }).id] = part
  return { waiting, summary: seenSummary(plan) }
}

/** What one worker saw without reading any file. */
export function seenSummary(seen: { readonly folders: number; readonly hasOwnFolder: boolean }): Summary {
  return {
    ...emptySummary,
    counts: { ...noCounts(), workers: 1, folders: seen.folders },
    hasOwnFolder: seen.hasOwnFolder,
  }
}

/** A part whose folder cannot be listed. */
export function unreadableSummary(part: Part, reason: string): Summary {
  return {
    ...emptySummary,
    counts: { ...noCounts(), workers: 1, unreadable: 1 },
    unread: [{ path: part.folder, reason }],
  }
}

export function gather(gathering: Gathering, message: ResultMessage): Gathering {
  const { [message.from]: part, ...waiting } = gathering.waiting
  // A result of another child, or one that came again.
  if (part === undefined) return gathering
  const read = message.status === 'completed' ? summarySchema.safeParse(message.value) : null
  const summary = read?.success ? read.data : lostSummary(part, reasonOfLoss(message))
  return { waiting, summary: mergeSummaries(gathering.summary, summary) }
}

export function isGathered(gathering: Gathering): boolean {
  return Object.keys(gathering.waiting).length === 0
}

function lostSummary(part: Part, reason: string): Summary {
  return {
    ...emptySummary,
    counts: { ...noCounts(), workers: 1, unreadable: 1, lostParts: 1 },
    lost: [{ path: part.folder, reason: `${describePart(part)}: ${reason}` }],
  }
}

function reasonOfLoss(message: ResultMessage): string {
  if (message.status === 'completed') return 'its reader replied something that is no summary'
  const cause = (message.failure?.message ?? '').replace(/[\p{C}\p{Z}]+/gu, ' ').slice(0, reasonCharsMax)
  const end = message.status === 'failed' ? 'its reader failed' : 'its reader was cancelled'
  return cause === '' ? end : `${end}: ${cause}`
}
