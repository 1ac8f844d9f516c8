/**
 * Duty: say why a worker, or a session, does not go on: what it waits for, since when, until when, and the command that helps.
 * HOLDUP-1 Every view shows these sentences and commands, and makes none of its own: `session show` and `tree`, `worker show`, `ask list`, `doctor`.
 * HOLDUP-2 It is made from records alone, and stored nowhere.
 */

import { childId } from '../core/ids.ts'
import { fromJson } from '../core/json.ts'
import { policy } from '../core/policy.ts'
import { holdupsMost } from '../core/worker/holdups-most.ts'
import type { Failure } from '../core/worker/run/failure.ts'
import type { WorkerState } from '../core/worker/run/run-state.ts'
import { isForScript, type WaitForScript, waitText } from '../core/worker/wait.ts'
import type { OpenAsk } from '../store/person/open-asks.ts'
import type { WorkerMode, WorkerRecord } from '../store/record/worker-record.ts'
import { answerCommand } from './person/answer-command.ts'
import type { SessionState } from './session/session-state.ts'
import { openChildrenOf, type ReadableRow } from './worker-rows.ts'

/** Only somebody outside ends these. */
const endedBySomebody = [
  'pause',
  'pause of all',
  'question',
  'approval',
  'signal',
  'no node',
  'budget',
  'failure',
  'message',
] as const
/** The reasons, the most urgent ones first. */
export const holdupReasons = [
  ...endedBySomebody,
  'lease',
  'slot',
  'retry',
  'timer',
  'start',
  'gate',
  'children',
] as const
/** question, approval, signal: an ask of this kind. budget, failure: its last run ended so. message: the next one of a conversation. start: an end of a sibling. gate: other runs of its kind. */
export type HoldupReason = (typeof holdupReasons)[number]

const ofSomebody: ReadonlySet<HoldupReason> = new Set(endedBySomebody)

export interface Holdup {
  readonly reason: HoldupReason
  /** The worker that waits. */
  readonly workerId: string
  /** Words for people, to be read behind "waits for". */
  readonly waitsFor: string
  /** True if it does not end by itself: a person or another system must act. */
  readonly needsSomebody: boolean
  /** In ms since 1970. */
  readonly since: number
  /** When it ends by itself, in ms since 1970; null if that is not known. */
  readonly until: number | null
  /** The command that helps; null if none is needed. */
  readonly command: string | null
}

type Cause = Pick<Holdup, 'reason' | 'waitsFor' | 'command'> & Partial<Pick<Holdup, 'since' | 'until'>>

/** A node reports about once a second. A node that was not seen for this long may be gone. */
export const silentMs = 5_000

/** Why a worker does not go on; null if it does, or has nothing to do. `updatedAt`: since when, if nothing says it better. */
export function holdupOf(row: ReadableRow, sessionId: string, updatedAt: number): Holdup | null {
  const cause = causeOf(row, sessionId)
  return cause && holdup(row.id, { since: updatedAt, ...cause })
}

/** An ask that nobody has answered. */
export function holdupOfAsk({
  id,
  kind,
  question,
  askedAt,
  workerId,
}: OpenAsk & { readonly workerId: string }): Holdup {
  const facts = {
    timers: 0,
    asks: 1,
    ask: { id, kind, question, askedAt },
    openChildren: 0,
    waitingChildren: 0,
    spawned: 0,
    attempts: 0,
    gate: null,
    callOf: () => null,
  }
  const waitsFor = waitText({ kind: 'signal' }, facts)
  return holdup(workerId, { reason: kind, waitsFor, since: askedAt, command: answerCommand(id, kind) })
}

function holdup(
  workerId: string,
  { reason, waitsFor, since, until = null, command }: Cause & { since: number },
): Holdup {
  return { reason, workerId, waitsFor, needsSomebody: ofSomebody.has(reason), since, until, command }
}

function causeOf(row: ReadableRow, sessionId: string): Cause | null {
  switch (row.record.status) {
    case 'queued':
      return queuedCause(row, sessionId)
    case 'running':
      return leaseCause(row)
    case 'parked':
      return parkedCause(row)
    case 'idle':
      return failureCause(row, sessionId)
    case 'paused':
    case 'terminal':
      return null
  }
}

function queuedCause({ record, isHosted, pause, times }: ReadableRow, sessionId: string): Cause {
  if (pause?.of === 'session')
    return {
      reason: 'pause',
      waitsFor: 'the session to be resumed',
      since: pause.at,
      command: `troupe session resume ${sessionId}`,
    }
  if (pause !== null)
    return {
      reason: 'pause of all',
      waitsFor: 'all sessions to be resumed',
      since: pause.at,
      command: 'troupe resume --all',
    }
  const since = times.queuedAt === null ? {} : { since: times.queuedAt }
  if (isHosted) return { reason: 'slot', waitsFor: slotText(record), command: null, ...since }
  return {
    reason: 'no node',
    waitsFor: `a node that hosts ${record.kind}`,
    command: 'troupe node --workers ./workers',
    ...since,
  }
}

/** Not every free slot may claim a suspect, except to end its run as failed (claims.lua). */
function slotText({ starts, isolatedStarts }: WorkerRecord): string {
  if (starts < policy.suspectAfterStarts || isolatedStarts >= policy.poisonAfterIsolatedStarts) return 'a free slot'
  return `a free slot of a node that runs no other suspect: it was started ${starts} times without a commit`
}

/** A worker that runs is held up if its node is silent: no other node may take it before its lease has ended. */
function leaseCause({ node, nodeSeenAt, times, record, readAt }: ReadableRow): Cause | null {
  const { leaseEndsAt } = times
  if (leaseEndsAt === null) return null
  const hasEnded = leaseEndsAt <= readAt
  const isSilent = nodeSeenAt !== null && readAt - nodeSeenAt >= silentMs
  if (!hasEnded && !isSilent) return null
  const words = record.lastWords === null ? '' : `: ${record.lastWords}`
  const waitsFor = `${hasEnded ? 'a live node' : 'its lease to end'}, because its node${node === null ? '' : ` ${node}`} is silent${words}`
  const since = nodeSeenAt ?? leaseEndsAt
  return hasEnded
    ? { reason: 'lease', waitsFor, since, command: 'troupe doctor' }
    : {
        reason: 'lease',
        waitsFor,
        since,
        until: leaseEndsAt,
        command: node === null ? null : `troupe node release ${node}`,
      }
}

function parkedCause(row: ReadableRow): Cause {
  const { id, record, open, times, gate } = row
  const [ask] = open.some
  const waitsFor = waitText(record.wait, {
    timers: open.timers,
    asks: open.asks,
    ask,
    openChildren: openChildrenOf(row),
    waitingChildren: record.atOnce?.waiting ?? 0,
    spawned: record.calls,
    attempts: record.attempts.attempt,
    gate,
    callOf: (child) => callOf(record, child),
  })
  const until = times.dueAt
  if (isForScript(record.wait)) return scriptCause(record.wait, { id, record, waitsFor, until })
  if (ask !== undefined) {
    const command = open.asks > 1 ? `troupe ask list --session ${record.sessionId}` : answerCommand(ask.id, ask.kind)
    return { reason: ask.kind, waitsFor, since: ask.askedAt, until, command }
  }
  const isOfChildren = record.pendingCalls.length > 0 && record.wait.kind !== 'signal'
  if (isOfChildren) return { reason: 'children', waitsFor, until, command: null }
  if (record.wait.kind === 'any' && open.timers === 0)
    return { reason: 'message', waitsFor, command: `troupe send ${id} <text>` }
  return { reason: 'timer', waitsFor, until, command: null }
}

/** The cause of a wait that only a script ends. */
function scriptCause(
  { kind: reason }: WaitForScript,
  { id, record, ...known }: Pick<ReadableRow, 'id' | 'record'> & Required<Pick<Cause, 'waitsFor' | 'until'>>,
): Cause {
  switch (reason) {
    case 'retry':
      return { reason, ...known, command: `troupe worker history ${id}` }
    case 'start':
      return { reason, waitsFor: known.waitsFor, command: null }
    case 'gate': {
      const since = record.queuedAt === null ? {} : { since: record.queuedAt }
      return { reason, waitsFor: known.waitsFor, command: null, ...since }
    }
  }
}

/** Only the run of a root can go on after it failed: a child has told its parent. */
function failureCause({ record, failureJson }: ReadableRow, sessionId: string): Cause | null {
  if (record.parentId !== null || !record.hasFailed) return null
  const failure = Object(fromJson(failureJson ?? '')) as Partial<Failure>
  const command = `troupe session retry ${sessionId}${higherLimitIn(failure.message)}`
  const since = typeof failure.at === 'number' ? { since: failure.at } : {}
  return failure.code === 'budget_exceeded'
    ? { reason: 'budget', waitsFor: 'a higher limit', command, ...since }
    : { reason: 'failure', waitsFor: 'somebody to retry its failed run', command, ...since }
}

/** The failure of a run that has used up a limit of its session names one that is high enough (runtime/agent/think.ts). */
function higherLimitIn(message: unknown): string {
  const limit =
    typeof message === 'string' ? /troupe session \S+ \S+ (?:--limits )?(\w+=\d+)/.exec(message)?.[1] : undefined
  return limit === undefined ? '' : ` --limits ${limit}`
}

/** The id of a child is made from its call. So the call is found by trying. */
function callOf({ id, run, calls }: WorkerRecord, child: string): number | null {
  for (let call = 1; call <= calls; call++) if (childId(id, run, call) === child) return call
  return null
}

/** The part of a session that says whether it goes on. */
export interface SessionFlow {
  readonly id: string
  readonly rootId: string
  readonly mode: WorkerMode
  readonly state: SessionState
}

interface Flowing {
  readonly id: string
  readonly status: WorkerState
  readonly updatedAt: number
  readonly holdup: Holdup | null
}

/**
 * Why a session does not go on, with what somebody must do first. Empty if it has ended, or goes on by itself because some worker runs.
 */
export function holdupsOf({ id, rootId, mode, state }: SessionFlow, workers: readonly Flowing[]): Holdup[] {
  if (state === 'completed' || state === 'cancelled') return []
  const all = workers.flatMap((worker) => worker.holdup ?? [])
  if (state === 'failed') return all.filter(({ workerId }) => workerId === rootId)
  const root = workers.find((worker) => worker.id === rootId)
  if (mode === 'conversation' && root?.status === 'idle' && root.holdup === null) {
    const cause = { reason: 'message', waitsFor: 'its next message', command: `troupe send ${id} <text>` } as const
    all.push(holdup(rootId, { ...cause, since: root.updatedAt }))
  }
  const ofOthers = all.filter(({ needsSomebody }) => needsSomebody)
  const goesOn = workers.some(({ status, holdup: own }) => status === 'running' && own === null)
  // Workers that wait for others of the session are left out: those say more.
  const own = all.filter(({ reason }) => reason !== 'children' && reason !== 'start')
  const found = ofOthers.length > 0 || goesOn ? ofOthers : own.length > 0 ? own : all
  return found.sort(byUrgency).slice(0, holdupsMost)
}

function byUrgency(a: Holdup, b: Holdup): number {
  return holdupReasons.indexOf(a.reason) - holdupReasons.indexOf(b.reason) || a.since - b.since
}
