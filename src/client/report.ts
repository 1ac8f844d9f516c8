/**
 * Duty: the report of a session and of its tree of workers, made from their records alone.
 * REPORT-1 It asks no worker, so it can be made at any time.
 * REPORT-2 Fine and coarse states are derived from the state of the run (core/worker/run-state.ts). They are never stored.
 */

import { damageOf } from '../core/errors.ts'
import { decodeTally, reportedUsage } from '../core/history/agent-tally.ts'
import { childId, sessionIdOfRoot, timeOf } from '../core/ids.ts'
import { fromJson } from '../core/json.ts'
import { defaultWorkerLimits, policy, type SessionLimits, type WorkerLimits } from '../core/policy.ts'
import { type Activity, activityOf } from '../core/worker/activity.ts'
import type { Failure } from '../core/worker/failure.ts'
import type { Permissions } from '../core/worker/permissions.ts'
import {
  type CoarseState,
  coarseState,
  type FineState,
  fineState,
  type RunState,
  type WorkerState,
} from '../core/worker/run-state.ts'
import { sumOfUsage, type UsageReport } from '../core/worker/usage.ts'
import { waitText } from '../core/worker/wait.ts'
import type { OpenAsk } from '../store/open-asks.ts'
import type { SessionRecord } from '../store/record/session-record.ts'
import type { WorkerRecord } from '../store/record/worker-record.ts'
import type { SessionFacts } from './session-summary.ts'
import type { ReadableRow } from './worker-rows.ts'

export interface WorkerReport {
  readonly id: string
  readonly sessionId: string
  readonly name: string
  readonly kind: string
  readonly parentId: string | null
  readonly depth: number
  /** What it does, in one word for people. */
  readonly activity: Activity
  readonly lifecycle: CoarseState
  readonly state: FineState
  /** The state of the run: one of eleven. */
  readonly run: RunState
  /** The status in the store: idle, queued, running, parked, paused, terminal. */
  readonly status: WorkerState
  readonly limits: WorkerLimits
  /** What it may use, if its session or its parent restricts that; otherwise null. */
  readonly permissions: Permissions | null
  /** With the code `bug` another program wrote over one of its keys, a field of its record, or its last failure. */
  readonly lastFailure: Failure | null
  /** Starts since its last commit; more than one if nodes died or were blocked while it ran. */
  readonly starts: number
  /** What its last node said before it died, or while code of this worker blocks it; null if that said nothing, and once a step is recorded. */
  readonly lastWords: string | null
  /** How many runs it has begun. */
  readonly runs: number
  /** How many model calls the current run has made, or the last run if none is open. */
  readonly iterations: number
  /** Totals over its life; empty for a worker without a model. */
  readonly usage: Partial<UsageReport>
  readonly mailbox: { readonly pending: number; readonly signals: number }
  /** Ids of those of its open asks that wait for the approval of a call. */
  readonly approvals: readonly string[]
  /** The id of the node that runs it now. */
  readonly node: string | null
  /** What it waits for, in words; null if it does not wait. */
  readonly waitsFor: string | null
  /** Since when it waits, in ms since 1970: when the pause began, or when its oldest open ask was asked, or else `updatedAt`. Null if it does not wait. */
  readonly waitsSince: number | null
  /** What it has asked and nobody has answered: up to ten asks, the oldest first. */
  readonly openAsks: readonly OpenAsk[]
  /** How many children of the current run have not reported yet. */
  readonly openChildren: number
  readonly historyLength: number
  /** When its newest history entry was written, in ms since 1970. Without a readable entry, when its session was created. */
  readonly updatedAt: number
}

export interface SessionReport extends SessionFacts {
  readonly limits: SessionLimits
  /** Summed over all its workers. */
  readonly usage: UsageReport & { readonly workers: number }
  readonly failure: Failure | null
}

/** A report without the sums over all workers. */
export type SessionSummary = Omit<SessionReport, 'usage'>

export interface Report {
  readonly session: SessionReport
  readonly workers: readonly WorkerReport[]
}

/** `sessionId` is needed only if the record cannot be read. */
export function workerReport(
  row: ReadableRow,
  sessionId = row.record.sessionId ?? sessionIdOfRoot(row.id),
): WorkerReport {
  const { record, damage } = row
  const { status, isOpen } = record
  // A running worker without an open run is at the first message of its next run, of which a renewal of its lease may have told more.
  const { run: recorded } = record.runState
  const isStarting = status === 'running' && !isOpen && (recorded === 'Idle' || recorded === 'Failed')
  const run: RunState = isStarting ? 'ProcessingUserMessage' : recorded
  const facts = { run, worker: status, firstByteSeen: record.runState.firstByteSeen }
  const tally = decodeTally(record.data)
  const lastFailure = damage === null ? failureOf(row.failureJson) : overwritten(damageOf(damage) ?? damage.message)
  const runs = record.run - (isOpen || status === 'running' ? 0 : 1)
  const { wasCancelled } = row
  const waits = waitsFor(row)
  const updatedAt = row.updatedAt ?? timeOf(sessionId)
  return {
    id: row.id,
    sessionId,
    name: record.name,
    kind: record.kind,
    parentId: record.parentId,
    depth: record.depth,
    activity:
      row.pause !== null
        ? 'paused'
        : activityOf({ ...facts, hasBegun: runs > 0, wasCancelled, failureCode: lastFailure?.code }),
    lifecycle: coarseState(facts),
    state: fineState(facts),
    run,
    status,
    limits: record.limits,
    permissions: record.permissions,
    lastFailure,
    starts: record.starts,
    lastWords: record.lastWords,
    runs,
    iterations: tally?.iterations ?? 0,
    usage: tally === null ? {} : reportedUsage(tally),
    mailbox: { pending: row.pending.inbox + row.pending.results + row.pending.signals, signals: row.pending.signals },
    approvals: row.open.some.flatMap(({ id, kind }) => (kind === 'approval' ? [id] : [])),
    node: row.node,
    waitsFor: waits,
    waitsSince: waits === null ? null : (row.pause?.at ?? row.open.some[0]?.askedAt ?? updatedAt),
    openAsks: row.open.some,
    openChildren: record.pendingCalls.length,
    historyLength: row.historyLength,
    updatedAt,
  }
}

/** If another program wrote over the failure of one worker, the report still shows the others. */
function failureOf(json: string | null): Failure | null {
  if (json === null) return null
  const failure = fromJson(json) as Failure | null
  if (typeof failure?.code === 'string' && typeof failure.message === 'string') return failure
  return overwritten('its last failure cannot be read')
}

function overwritten(what: string): Failure {
  const message = `${what}: another program wrote over it`
  return { code: 'bug', message, origin: 'runtime', at: 0, attempt: 1, retryable: false }
}

function waitsFor({ record, isHosted, pause, open }: ReadableRow): string | null {
  if (pause !== null) return pause.of === 'session' ? 'the session to be resumed' : 'all sessions to be resumed'
  if (record.status === 'queued') return isHosted ? slotText(record) : `a node that hosts ${record.kind}`
  if (record.status !== 'parked') return null
  return waitText(record.wait, {
    timers: open.timers,
    asks: open.asks,
    ask: open.some[0],
    openChildren: record.pendingCalls.length,
    attempts: record.attempts.attempt,
    callOf: (child) => callOf(record, child),
  })
}

/** Not every free slot may claim a suspect, except to end its run as failed (claims.lua). */
function slotText({ starts, isolatedStarts }: WorkerRecord): string {
  if (starts < policy.suspectAfterStarts || isolatedStarts >= policy.poisonAfterIsolatedStarts) return 'a free slot'
  return `a free slot of a node that runs no other suspect: it was started ${starts} times without a commit`
}

/** The id of a child is made from its call. So the call is found by trying. */
function callOf({ id, run, calls }: WorkerRecord, child: string): number | null {
  for (let call = 1; call <= calls; call++) if (childId(id, run, call) === child) return call
  return null
}

/** `workers`: the reports that were made, with that of the root among them if the root exists. */
export function sessionReport(
  facts: SessionFacts,
  session: SessionRecord,
  workers: readonly WorkerReport[],
): SessionReport {
  const root = workers.find((worker) => worker.id === facts.rootId)
  return {
    ...facts,
    limits: { ...(root?.limits ?? defaultWorkerLimits), ...session.allowed },
    usage: { workers: session.workers, ...sumOfUsage(workers.map(({ usage }) => usage)) },
    failure: facts.state === 'failed' ? (root?.lastFailure ?? null) : null,
  }
}
