/**
 * Duty: derive the state of a session from the record of its root. Reports, lists and results use it.
 * SUMMARY-1 It is a pure function of the record. Nothing else derives the state of a session, or which of its runs ended last.
 * SUMMARY-2 A cancelled session is "cancelling" until none of its workers runs any more. A session that has ended keeps its state, even if
 *     somebody cancels its detached workers later.
 */
import { rootIdOf } from '../../core/ids.ts'
import { fromJson } from '../../core/json.ts'
import type { SessionApproval } from '../../core/worker/ask/session-approval.ts'
import type { Cost } from '../../core/worker/run/cost.ts'
import type { TurnShare } from '../../core/worker/turn-share.ts'
import { decodePauseNote, type PauseNote } from '../../store/record/pause-note.ts'
import {
  type BranchOf,
  decodeResultLine,
  type ForkOf,
  type RunResultPlace,
  type SessionRecord,
} from '../../store/record/session-record.ts'
import type { WorkerMode } from '../../store/record/worker-record.ts'
import type { SessionState } from './session-state.ts'

export type { BranchOf, ForkOf, PauseNote, RunResultPlace, WorkerMode }

export type CloseNote = Pick<PauseNote, 'by' | 'at'>

export interface SessionFacts {
  readonly id: string
  readonly rootId: string
  readonly name: string
  readonly kind: string
  readonly mode: WorkerMode
  readonly state: SessionState
  readonly createdAt: number | null
  readonly finishedAt: number | null
  readonly cancelReason: string | null
  /** Who paused it, why and when (ms since 1970); null if it is not paused by itself. */
  readonly paused: PauseNote | null
  /** Who closed it, and when (ms since 1970); null: nobody did. */
  readonly closed: CloseNote | null
  /** Its policy for approvals, the tools that are trusted, and what happens if nobody answers. */
  readonly approval: SessionApproval
  /** The session that it is a copy of, and when it was copied (ms since 1970); null if it is none. */
  readonly forkedFrom: (ForkOf & { readonly dryRun: boolean }) | null
  /** The worker whose conversation it began with, and up to which position of that history; null if it is no branch. */
  readonly branchOf: BranchOf | null
  /** Its share of the slots beside other sessions, and how far in front of them it stands. */
  readonly turnShare: TurnShare
  /** What the model calls of all its workers cost; null before the first. */
  readonly cost: Cost | null
  /** The last run that ended, if it was read; `result()` reads its value. */
  readonly result: RunResultPlace | null
}

/** `lastRun`: the stored line of a run that ended before the session did, if somebody read it. */
export function factsOf(
  id: string,
  session: SessionRecord,
  createdAt: number | null,
  lastRun?: { readonly run: number; readonly line: string | null },
): SessionFacts {
  const earlier = lastRun?.line == null ? null : decodeResultLine(lastRun.run, lastRun.line)
  return {
    id,
    rootId: rootIdOf(id),
    name: session.name,
    kind: session.kind,
    mode: session.mode,
    state: stateOf(session),
    createdAt,
    finishedAt: session.end?.at ?? null,
    cancelReason: session.cancelReasonJson === null ? null : textIn(session.cancelReasonJson),
    paused: session.pauseJson === null ? null : decodePauseNote(session.pauseJson),
    closed: session.closeJson === null ? null : closeNote(session.closeJson),
    approval: session.approval,
    forkedFrom: forkOf(session),
    branchOf: session.branchOf,
    turnShare: session.turnShare,
    cost: session.cost,
    result: session.end?.result ?? earlier,
  }
}

function closeNote(json: string): CloseNote {
  const { by, at } = decodePauseNote(json)
  return { ...(by !== undefined && { by }), at }
}

function forkOf({ forkedFrom, copied }: SessionRecord): SessionFacts['forkedFrom'] {
  return forkedFrom && { ...forkedFrom, dryRun: copied === 'dry' }
}

export function stateOf({ end, cancelReasonJson }: SessionRecord): SessionState {
  if (end !== null) return end.status
  return cancelReasonJson === null ? 'active' : 'cancelling'
}

/** True if the session is over. Detached workers may still run. */
export function hasEnded(state: SessionState): boolean {
  return state !== 'active' && state !== 'cancelling'
}

/** How this run of the root ended; null if it has not. `line`: what the session stores of it. */
export function resultOfRun({ end }: SessionRecord, run: number, line: string | null): RunResultPlace | null {
  if (end?.result?.run === run) return end.result
  return line === null ? null : decodeResultLine(run, line)
}

/** The run whose result a caller gets who names none. Null for a job: its result is the end of the session. */
export function runInProgress({ mode, status, run }: SessionRecord): number | null {
  return mode === 'conversation' ? Math.max(1, status === 'idle' ? run - 1 : run) : null
}

/** The number of the last run that ended. */
export function lastRunOf({ run }: SessionRecord): number {
  return Math.max(1, run - 1)
}

/** The text that the JSON holds. JSON that is no text is returned as it is stored. */
function textIn(json: string): string {
  const text = fromJson(json)
  return typeof text === 'string' ? text : json
}
