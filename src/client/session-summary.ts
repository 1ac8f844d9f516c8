/**
 * Duty: how a session stands: a pure function of the record of its root, for reports, lists, results and whoever else asks.
 * SUMMARY-1 Nothing else derives the state of a session, or which of its runs ended last.
 * SUMMARY-2 A session that is being cancelled is "cancelling" until no worker of it runs any more; one that ended keeps the state that it
 *     ended with, also when its detached workers are cancelled later.
 */
import { rootIdOf } from '../core/ids.ts'
import { fromJson } from '../core/json.ts'
import { decodeResultLine, type RunResultPlace, type SessionRecord } from '../store/record/session-record.ts'
import type { WorkerMode } from '../store/record/worker-record.ts'

export type SessionState = 'active' | 'completed' | 'failed' | 'cancelling' | 'cancelled'
/** damaged: another program wrote over a key of it, or a field of its root's record, which `report` names. */
export type ListedState = SessionState | 'damaged'
export const listedStates: readonly ListedState[] = [
  'active',
  'completed',
  'failed',
  'cancelling',
  'cancelled',
  'damaged',
]

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
  /** The last run that ended, as far as it was asked for; its value is read by `result()`. */
  readonly result: RunResultPlace | null
}

/** `resultLine`: what is stored of the run that ended last before the session did, where somebody read that. */
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
    result: session.end?.result ?? earlier,
  }
}

export function stateOf({ end, cancelReasonJson }: SessionRecord): SessionState {
  if (end !== null) return end.status
  return cancelReasonJson === null ? 'active' : 'cancelling'
}

/** Nothing that the session was created for goes on any more. */
export function hasEnded(state: SessionState): boolean {
  return state !== 'active' && state !== 'cancelling'
}

/** How this run of the root ended, by what is stored of it; null while it has not. */
export function resultOfRun({ end }: SessionRecord, run: number, line: string | null): RunResultPlace | null {
  if (end?.result?.run === run) return end.result
  return line === null ? null : decodeResultLine(run, line)
}

/** The run whose result is wanted where none is named; null: the end of the session, since that of a job is its result. */
export function runInProgress({ mode, status, run }: SessionRecord): number | null {
  return mode === 'conversation' ? Math.max(1, status === 'idle' ? run - 1 : run) : null
}

/** The number of the last run that ended. */
export function lastRunOf({ run }: SessionRecord): number {
  return Math.max(1, run - 1)
}

/** As it is stored, where that is no text in JSON. */
function textIn(json: string): string {
  const text = fromJson(json)
  return typeof text === 'string' ? text : json
}
