/**
 * Duty: the report of a session and of its tree of workers, made from their records alone.
 * REPORT-1 It asks no worker, so it can be made at any time.
 * REPORT-2 Fine and coarse states are derived from the state of the run (core/worker/run/run-state.ts). They are never stored.
 */

import { damageOf } from '../core/errors.ts'
import { decodeTally, reportedUsage } from '../core/history/run/agent-tally.ts'
import { sessionIdOfRoot, timeOf } from '../core/ids.ts'
import { fromJson } from '../core/json.ts'
import { defaultWorkerLimits, type SessionLimits, type WorkerLimits } from '../core/policy.ts'
import type { Configuration } from '../core/worker/message/configuration.ts'
import type { Permissions } from '../core/worker/permissions.ts'
import { type Activity, activityOf } from '../core/worker/run/activity.ts'
import { reportedCost } from '../core/worker/run/cost.ts'
import type { Failure } from '../core/worker/run/failure.ts'
import {
  type CoarseState,
  coarseState,
  type FineState,
  fineState,
  type RunState,
  type WorkerState,
} from '../core/worker/run/run-state.ts'
import { sumOfUsage, type UsageReport } from '../core/worker/run/usage.ts'
import type { OpenAsk } from '../store/person/open-asks.ts'
import type { SessionRecord } from '../store/record/session-record.ts'
import { type Holdup, holdupOf, holdupsOf } from './holdup.ts'
import type { SessionFacts } from './session/session-summary.ts'
import { openChildrenOf, type ReadableRow } from './worker-rows.ts'

export type { OpenAsk }

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
  /** What somebody has set for this agent; null: it is as its kind says. */
  readonly configured: Configuration | null
  /** The code `bug` means that another program wrote over one of its keys, a field of its record, or its last failure. */
  readonly lastFailure: Failure | null
  /** Starts since its last commit; more than one if nodes died or were blocked while it ran. */
  readonly starts: number
  /** How many of its turns were interrupted, ever: their node died, or lost its lease. Another turn took the worker over each time. */
  readonly interrupted: number
  /** What its last node said before it died, or while code of this worker blocks it; null if that said nothing, and once a step is recorded. */
  readonly lastWords: string | null
  /** How many runs it has begun. */
  readonly runs: number
  /** How many model calls the current run has made, or the last run if none is open. */
  readonly iterations: number
  /** Totals over its life; empty for a worker without a model. */
  readonly usage: Partial<UsageReport>
  readonly mailbox: { readonly pending: number; readonly signals: number }
  /** The ids of its open asks that wait for the approval of a call. */
  readonly approvals: readonly string[]
  /** The id of the node that runs it now. */
  readonly node: string | null
  /** Why it does not go on, and the command that helps; null if it goes on, or has nothing to do. */
  readonly holdup: Holdup | null
  /** What it waits for, in words; null if it does not wait. */
  readonly waitsFor: string | null
  /** Since when it waits, in ms since 1970. Null if it does not wait. */
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
  /** Why it does not go on: what somebody must do comes first. Empty if it has ended, or goes on. */
  readonly holdups: readonly Holdup[]
}

/** A report without what needs all workers. */
export type SessionSummary = Omit<SessionReport, 'usage' | 'holdups'>

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
  // A running worker without an open run is at the first message of its next run; a renewal of its lease may have written more.
  const { run: recorded } = record.runState
  const isStarting = status === 'running' && !isOpen && (recorded === 'Idle' || recorded === 'Failed')
  const run: RunState = isStarting ? 'ProcessingUserMessage' : recorded
  const facts = { run, worker: status, firstByteSeen: record.runState.firstByteSeen }
  const tally = decodeTally(record.data)
  const lastFailure = damage === null ? failureOf(row.failureJson) : overwritten(damageOf(damage) ?? damage.message)
  const runs = record.run - (isOpen || status === 'running' ? 0 : 1)
  const { wasCancelled } = row
  const updatedAt = row.updatedAt ?? timeOf(sessionId)
  const holdup = holdupOf(row, sessionId, updatedAt)
  // A worker that rests waits for nothing, whatever somebody may do with it.
  const waits = status === 'idle' ? null : holdup
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
    configured: record.configured,
    lastFailure,
    starts: record.starts,
    interrupted: record.crashes,
    lastWords: record.lastWords,
    runs,
    iterations: tally?.iterations ?? 0,
    usage: tally === null ? {} : { ...reportedUsage(tally), ...reportedCost(record.cost) },
    mailbox: { pending: row.pending.inbox + row.pending.results + row.pending.signals, signals: row.pending.signals },
    approvals: row.open.some.flatMap(({ id, kind }) => (kind === 'approval' ? [id] : [])),
    node: row.node,
    holdup,
    waitsFor: waits?.waitsFor ?? null,
    waitsSince: waits?.since ?? null,
    openAsks: row.open.some,
    openChildren: openChildrenOf(row),
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
    usage: {
      workers: session.workers,
      ...sumOfUsage(workers.map(({ usage }) => usage)),
      ...reportedCost(session.cost),
    },
    failure: facts.state === 'failed' ? (root?.lastFailure ?? null) : null,
    holdups: holdupsOf(facts, workers),
  }
}
