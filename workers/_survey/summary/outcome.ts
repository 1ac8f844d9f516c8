/** Duty: the summary of a part that was not read file by file: its worker only planned, its folder cannot be listed, or its reader failed. */
import type { Answer } from '../tree/at-top.ts'
import { describePart, type Part } from '../tree/part.ts'
import { emptySummary, noCounts, type Summary } from './summary.ts'

const reasonCharsMax = 200

/** What one worker found without reading any file. */
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

/** The summary of the part; or the reason if the surveyed folder could not be opened. */
export function readOrUnreadable(part: Part, read: Answer<Summary>): Summary {
  return read.kind === 'found' ? read.value : unreadableSummary(part, read.reason)
}

/** A part that is missing from the figures. */
export function lostSummary(part: Part, reason: string): Summary {
  return {
    ...emptySummary,
    counts: { ...noCounts(), workers: 1, unreadable: 1, lostParts: 1 },
    lost: [{ path: part.folder, reason: `${describePart(part)}: ${reason}` }],
  }
}

export const noSummary = 'its reader replied something that is no summary'

/** Why the reader of a part did not complete, on one line. */
export function reasonOfLoss(status: 'failed' | 'cancelled', failure: string): string {
  const cause = failure.replace(/[\p{C}\p{Z}]+/gu, ' ').slice(0, reasonCharsMax)
  const end = status === 'failed' ? 'its reader failed' : 'its reader was cancelled'
  return cause === '' ? end : `${end}: ${cause}`
}
