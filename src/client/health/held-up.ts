/**
 * Duty: find the newest sessions and workers that do not go on until somebody does something.
 * HELD-UP-1 It looks only at the newest ones, so that it stays short however many there are.
 */
import type { Holdup, HoldupReason } from '../holdup.ts'
import type { SessionIndex } from '../session/session-index.ts'
import type { ListedSession } from '../summaries.ts'

export interface HeldUpWorker {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly holdup: Holdup
}

/** What the newest sessions show. */
export interface HeldUp {
  /** Sessions that are paused by themselves. */
  readonly pausedSessions: readonly string[]
  /** Workers that wait for an answer or for a higher limit, the longest first. */
  readonly heldUp: readonly HeldUpWorker[]
}

const newestMost = 200
/** Pauses and kinds that no node hosts are findings of their own; a failed run is a result. */
const reasons: ReadonlySet<HoldupReason> = new Set<HoldupReason>(['question', 'approval', 'signal', 'budget'])

export async function lookForHoldups(index: SessionIndex): Promise<HeldUp> {
  const [sessions, workers] = await Promise.all([index.list({ limit: newestMost }), index.newestWorkers(newestMost)])
  const heldUp = workers.flatMap(({ id, name, kind, holdup }) =>
    holdup !== null && reasons.has(holdup.reason) ? [{ id, name, kind, holdup }] : [],
  )
  return {
    pausedSessions: sessions.filter(isHeld).map(({ id }) => id),
    heldUp: heldUp.sort((a, b) => a.holdup.since - b.holdup.since),
  }
}

/** A session that ended during its pause holds nothing any more, but for detached workers. */
function isHeld({ paused, finishedAt, workers }: ListedSession): boolean {
  return paused !== null && (finishedAt === null || workers > 1)
}
