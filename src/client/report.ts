/**
 * Duty: the session supervisor's report: a session and the tree of its workers as the records say, at any time, without asking the
 * workers. Fine and coarse states are projections (core/worker/run-state.ts), never stored.
 */

import { damageOf } from '../core/errors.ts'
import { decodeTally } from '../core/history/agent-tally.ts'
import type { ResultStatus } from '../core/history/entry.ts'
import { childId, rootIdOf, sessionIdOfRoot, timeOf } from '../core/ids.ts'
import { fromJson } from '../core/json.ts'
import {
  decodeLimits,
  decodeSpending,
  defaultSpending,
  defaultWorkerLimits,
  policy,
  type SessionLimits,
  type WorkerLimits,
} from '../core/policy.ts'
import type { Failure } from '../core/worker/failure.ts'
import {
  type CoarseState,
  coarseState,
  decodeRunState,
  type FineState,
  fineState,
  type RunState,
  type WorkerState,
} from '../core/worker/run-state.ts'
import { decodeGrant, type WorkerGrant } from '../core/worker/worker-grant.ts'
import type { WorkerRow } from '../store/inspect-store.ts'
import { decodeCalls } from '../store/record/call-ranges.ts'
import { startsOf } from '../store/record/starts.ts'
import type { RecordFields } from '../store/script/replies.ts'

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

/** What an agent, or all of a session, used so far. */
export interface UsageReport {
  readonly modelCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
}

export interface WorkerReport {
  readonly id: string
  readonly sessionId: string
  readonly name: string
  readonly kind: string
  readonly parentId: string | null
  readonly depth: number
  readonly lifecycle: CoarseState
  readonly state: FineState
  /** State of the run, one of the eleven. */
  readonly run: RunState
  /** Where it stands with the store: idle, queued, running, parked, paused, terminal. */
  readonly place: WorkerState
  readonly limits: WorkerLimits
  /** What it may use, where its session or its parent restricts that; null where nothing does. */
  readonly grant: WorkerGrant | null
  /** Code `bug`: another program wrote over a key of it, a field of its record, or its last failure. */
  readonly lastFailure: Failure | null
  /** Runs begun so far. */
  readonly runs: number
  /** Model calls of the current run, or of the last one. */
  readonly iterations: number
  /** Totals of its life; empty for a worker without a model. */
  readonly usage: Partial<UsageReport>
  readonly mailbox: { readonly pending: number; readonly control: number }
  readonly approvals: readonly string[]
  /** The node that runs it now. */
  readonly node: string | null
  /** What a parked worker waits for, in words; null when it does not wait. */
  readonly waitsFor: string | null
  /** Children of the current run whose results it still awaits. */
  readonly openChildren: number
  readonly historyLength: number
  /** When its newest history entry was written; without one that can be read, when its session was created. In ms since the epoch. */
  readonly updatedAt: number
}

export interface SessionReport {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly rootId: string
  readonly state: SessionState
  readonly mode: 'job' | 'conversation'
  readonly createdAt: number | null
  readonly finishedAt: number | null
  readonly limits: SessionLimits
  /** Of all its workers. */
  readonly usage: UsageReport & { readonly workers: number }
  /** The last run that ended; its value is read by `result()`. */
  readonly result: { readonly run: number; readonly status: ResultStatus; readonly position: number } | null
  readonly failure: Failure | null
  readonly cancelReason: string | null
}

/** Without what is counted over all workers. */
export type SessionStanding = Omit<SessionReport, 'usage'>

export interface Report {
  readonly session: SessionReport
  readonly workers: readonly WorkerReport[]
}

/** `sessionId` is said by a record that can be read. */
export function workerReport(row: WorkerRow, sessionId = row.fields.session ?? sessionIdOfRoot(row.id)): WorkerReport {
  const { fields, damage } = row
  const place = fields.place as WorkerState
  // A claimed worker whose run has not recorded anything yet is at its first message.
  const starting = place === 'running' && fields.open !== '1'
  const recorded = decodeRunState(fields.runState ?? 'Idle')
  const run: RunState = starting ? 'ProcessingUserMessage' : recorded.run
  const facts = { run, worker: place, firstByteSeen: recorded.firstByteSeen }
  const tally = decodeTally(fields.data ?? '')
  return {
    id: row.id,
    sessionId,
    name: fields.name ?? (fields.kind as string),
    kind: fields.kind as string,
    parentId: fields.parent ?? null,
    depth: Number(fields.depth ?? 0),
    lifecycle: coarseState(facts),
    state: fineState(facts),
    run,
    place,
    limits: decodeLimits(fields.limits),
    grant: fields.grant === undefined ? null : decodeGrant(fields.grant),
    lastFailure: damage === null ? failureOf(row.failureJson) : overwritten(damageOf(damage) ?? damage.message),
    runs: Number(fields.run ?? 1) - (fields.open === '1' || place === 'running' ? 0 : 1),
    iterations: tally?.iterations ?? 0,
    usage: tally === null ? {} : usageOf(tally),
    mailbox: { pending: row.pending.user + row.pending.family + row.pending.control, control: row.pending.control },
    approvals: [],
    node: row.node,
    waitsFor: waitsFor(row, place),
    openChildren: decodeCalls(fields.awaits ?? '').length,
    historyLength: row.historyLength,
    updatedAt: row.updatedAt ?? timeOf(sessionId),
  }
}

/** One worker whose failure somebody wrote over holds up no report of the others. */
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

/** As it is stored, where that is no text in JSON. */
function textOf(json: string): string {
  const text = fromJson(json)
  return typeof text === 'string' ? text : json
}

function waitsFor({ id, fields, isHosted }: WorkerRow, place: WorkerState): string | null {
  if (place === 'queued') return isHosted ? slotText(fields) : `a node that hosts ${fields.kind}`
  if (place !== 'parked') return null
  const wait = fields.wait ?? 'any'
  if (wait === 'retry') return retryText(fields.attempt ?? '1')
  if (wait === 'control') return 'a timer'
  if (wait.startsWith('family:')) return familyText(decodeCalls(fields.awaits ?? '').length)
  if (!wait.startsWith('result:')) return wait === 'any' ? 'input' : wait
  const open = decodeCalls(fields.awaits ?? '').length
  const first = wait.slice('result:'.length)
  const call = callOf(id, fields, first)
  const which = call === null ? `worker ${first}` : `its child number ${call} (${first})`
  return open === 1 ? `the result of ${which}` : `the result of ${which}; ${open} children are open`
}

/** A suspect is not claimed by just any free slot, but for its failing end (claims.lua). */
function slotText(fields: RecordFields): string {
  const starts = startsOf(fields)
  if (starts < policy.suspectAfterStarts || Number(fields.alone ?? 0) >= policy.poisonAfterStartsAlone)
    return 'a free slot'
  return `a free slot of a node that runs no other suspect: it was started ${starts} times without a commit`
}

function familyText(open: number): string {
  return open === 0 ? 'results of its children' : `results of its children; ${open} ${open === 1 ? 'is' : 'are'} open`
}

function retryText(attempt: string): string {
  const tries = Number(attempt.split(' ')[0])
  return `a retry after ${tries} failed ${tries === 1 ? 'try' : 'tries'}`
}

/** Child ids are derived from calls, so the call that a wait names is found by trying. */
function callOf(id: string, fields: RecordFields, child: string): number | null {
  const run = Number(fields.run ?? 1)
  for (let call = 1; call <= Number(fields.calls ?? 0); call++) if (childId(id, run, call) === child) return call
  return null
}

function usageOf(used: UsageReport): UsageReport {
  const { modelCalls, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = used
  return { modelCalls, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens }
}

function sumOf(workers: readonly WorkerReport[]): UsageReport {
  const sum = (name: keyof UsageReport) => workers.reduce((total, { usage }) => total + (usage[name] ?? 0), 0)
  return {
    modelCalls: sum('modelCalls'),
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    cacheReadTokens: sum('cacheReadTokens'),
    cacheWriteTokens: sum('cacheWriteTokens'),
    reasoningTokens: sum('reasoningTokens'),
  }
}

export function sessionReport(
  id: string,
  fields: RecordFields,
  createdAt: number | null,
  workers: readonly WorkerReport[],
  mode: string,
): SessionReport {
  const root = workers.find((worker) => worker.id === rootIdOf(id))
  return {
    id,
    name: root?.name ?? '',
    kind: root?.kind ?? '',
    rootId: rootIdOf(id),
    state: fields.state as SessionState,
    mode: mode === 'conversation' ? 'conversation' : 'job',
    createdAt,
    finishedAt: fields.finished === undefined ? null : Number(fields.finished),
    limits: {
      ...(root?.limits ?? defaultWorkerLimits),
      ...(fields.caps === undefined ? defaultSpending : decodeSpending(fields.caps)),
    },
    usage: { workers: Number(fields.workers ?? 1), ...sumOf(workers) },
    result: lastResult(fields),
    failure: fields.state === 'failed' ? (root?.lastFailure ?? null) : null,
    cancelReason: fields.cancel === undefined ? null : textOf(fields.cancel),
  }
}

/** `result:<run>` is "<status> <position>"; the newest run counts. */
export function lastResult(fields: RecordFields): SessionReport['result'] {
  let newest = 0
  for (const name of Object.keys(fields)) {
    if (name.startsWith('result:')) newest = Math.max(newest, Number(name.slice('result:'.length)))
  }
  return newest === 0 ? null : resultOfRun(fields, newest)
}

export function resultOfRun(fields: RecordFields, run: number): SessionReport['result'] {
  const line = fields[`result:${run}`]
  if (line === undefined) return null
  const [status, position] = line.split(' ') as [ResultStatus, string]
  return { run, status, position: Number(position) }
}
