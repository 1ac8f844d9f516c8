/**
 * Duty: let the failed run of a session go on: read the run, decide where it goes on (core/history/run/retry-plan.ts), and ask the store.
 * RETRY-SESSION-1 A decision holds for the record that was read for it. If the record has moved on, it is read again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { oneOfRule, type Rules } from '../../../core/check/check-options.ts'
import { isObject } from '../../../core/check/is-object.ts'
import { ConflictError, InputError, TransientError } from '../../../core/errors.ts'
import type { EventNote } from '../../../core/event/event.ts'
import { encodeEvents } from '../../../core/event/event-notes.ts'
import { decodeEntry, type Entry } from '../../../core/history/entry.ts'
import { orderedEntries } from '../../../core/history/run/between-runs.ts'
import { planRetry, type RetryVerdict } from '../../../core/history/run/retry-plan.ts'
import { type UnknownDecision, unknownDecisions } from '../../../core/history/run/unknown-decision.ts'
import { rootIdOf } from '../../../core/ids.ts'
import type { Spending } from '../../../core/policy.ts'
import { sessionNotFound } from '../../../core/worker/refusal.ts'
import type { InspectStore } from '../../../store/audit/inspect-store.ts'
import type { RetryOrder } from '../../../store/session/session-store.ts'
import type { WorkerRow } from '../../../store/worker/worker-rows.ts'
import { checkSpending } from '../../submission/limits.ts'
import type { Submission } from '../../submission/submission.ts'
import { readRows } from '../../worker-rows.ts'
import { stateOf } from '../session-summary.ts'

export interface RetryQuery {
  /**
   * What you found out about calls of `once` tools whose outcome is unknown. `again`: they took no effect, run them again. `failed`: they
   * took no effect, tell the model so. `done`: they took effect, tell the model so.
   */
  readonly unknown?: UnknownDecision | undefined
  /** What all agents of the session may use together from now on. */
  readonly limits?: Partial<Spending> | undefined
}

export const retryRules: Rules<RetryQuery> = {
  unknown: oneOfRule(unknownDecisions),
  limits: { expects: 'an object like { tokens: 100000 }', fits: isObject },
}

export interface Retried {
  /** The run that goes on. */
  readonly run: number
  /** The step at which it goes on, in words. */
  readonly step: string
}

interface RetryContext {
  readonly store: InspectStore
  readonly submission: Submission
}

/** How long it waits before it looks again while the turn of the failed run ends, or children of that run are being cancelled. */
const waitMs = 200
const attempts = 50
/** Entries may be large. */
const pageSize = 200

export async function retrySession(
  sessionId: string,
  { store, submission }: RetryContext,
  query: RetryQuery,
): Promise<Retried> {
  const limits = query.limits && checkSpending(query.limits)
  for (let attempt = 0; attempt < attempts; attempt++) {
    await checkFailed(store, sessionId)
    const { order, retried } = await orderOf(sessionId, { store, by: submission.by }, query.unknown)
    const answer = await submission.retry(sessionId, { ...order, limits })
    switch (answer.kind) {
      case 'ok':
        return retried
      case 'not_found':
        throw sessionNotFound(sessionId)
      case 'not_failed':
        throw notFailed(sessionId, answer.state)
      case 'no_letter':
        throw impossible(sessionId, 'its message is among the dead letters no more')
      case 'ending':
      case 'moved':
        await sleep(waitMs)
        continue
    }
  }
  throw new TransientError(
    `session ${sessionId} cannot go on yet: the turn of its failed run has not ended, or the children of that run are still being cancelled. Retry it again in some seconds.`,
  )
}

async function checkFailed(store: InspectStore, sessionId: string): Promise<void> {
  const row = await store.session(sessionId)
  if (row === null) throw sessionNotFound(sessionId)
  const state = stateOf(row.session)
  const mayHaveFailed = state === 'failed' || (state === 'active' && row.session.mode === 'conversation')
  if (!mayHaveFailed) throw notFailed(sessionId, state)
}

interface OrderContext {
  readonly store: InspectStore
  readonly by: Submission['by']
}

interface Ordered {
  readonly order: Omit<RetryOrder, 'limits'>
  readonly retried: Retried
}

async function orderOf(
  sessionId: string,
  { store, by }: OrderContext,
  decision: UnknownDecision | undefined,
): Promise<Ordered> {
  const [row] = await readRows(store, [rootIdOf(sessionId)])
  if (row === undefined) throw sessionNotFound(sessionId)
  if (row.damage) throw row.damage
  const { record, historyLength } = row
  if (!record.hasFailed || hasGoneOn(row)) throw notFailed(sessionId, 'active')
  const run = record.run - 1
  const all = await entriesOfRun(store, row, run)
  const [entries, since] = [
    all.filter((entry) => (entry.run ?? run) <= run),
    all.filter((entry) => (entry.run ?? run) > run),
  ]
  if (!since.every(({ type }) => orderedEntries.has(type)))
    throw impossible(sessionId, 'its history was changed from outside since, with an undo or a message')
  const facts = { run, epoch: record.epoch, at: Date.now(), next: historyLength, entries }
  const verdict = planRetry(facts, decision)
  const { version } = record.lastCommit
  if (verdict.kind === 'dead_letter') return letterOrder(sessionId, { store, by }, version, run)
  if (verdict.kind !== 'plan') throw refused(sessionId, verdict)
  const { plan } = verdict
  const retried = { run, step: plan.step }
  return {
    retried,
    order: { ...plan, version, run, event: encodeEvents([['session.retried', { ...retried, ...by }]]) },
  }
}

/** A run may end with a commit before the one that ends its turn. Until then the worker does not rest, and nothing new has begun. */
function hasGoneOn({ record: { status, isOpen }, pending }: WorkerRow): boolean {
  const ends = status === 'running' || status === 'queued'
  return status !== 'idle' && !(ends && !isOpen && pending.inbox === 0)
}

/** The message of the run was put aside and never received: the next run receives it. */
async function letterOrder(
  sessionId: string,
  { store, by }: OrderContext,
  version: number,
  run: number,
): Promise<Ordered> {
  const letter = await store.newestLetterOf(rootIdOf(sessionId))
  if (letter === null) throw impossible(sessionId, 'it received no message, and none of its dead letters holds one')
  const retried = { run: run + 1, step: `the message of dead letter ${letter}` }
  const notes: EventNote[] = [
    ['message.redriven', { letter, ...by }],
    ['session.retried', { ...retried, ...by }],
  ]
  const nothing = { runState: 'Failed', calls: 0, steps: 0, entries: [], mail: '' }
  return { retried, order: { ...nothing, version, run, letter, event: encodeEvents(notes) } }
}

/** All entries of the run, which is the last one: the history is read backwards. */
async function entriesOfRun(store: InspectStore, { id, historyLength }: WorkerRow, run: number): Promise<Entry[]> {
  const pages: Entry[][] = []
  for (let end = historyLength; end > 0; ) {
    const from = Math.max(0, end - pageSize)
    const page = (await store.history(id, from - 1, end - from)).map(({ json }) => decodeEntry(json))
    const before = page.findLastIndex((entry) => typeof entry.run === 'number' && entry.run < run)
    pages.unshift(page.slice(before + 1))
    if (before >= 0) break
    end = from
  }
  return pages.flat()
}

function notFailed(sessionId: string, state: string): ConflictError {
  const is = state === 'active' ? 'is active, and its last run has not failed' : `is ${state}`
  return new ConflictError(
    'transition_illegal',
    `session ${sessionId} ${is}: only a session whose last run failed can be retried.`,
  )
}

function refused(sessionId: string, verdict: Exclude<RetryVerdict, { kind: 'plan' | 'dead_letter' }>): Error {
  switch (verdict.kind) {
    case 'undecided':
      return new ConflictError(
        'transition_illegal',
        `nobody knows whether ${verdict.calls.join(', ')} of session ${sessionId} took effect. Look at what it would have changed, then say so: troupe session retry ${sessionId} --unknown done (it took effect), failed (it did not, tell the model), or again (it did not, run it again).`,
        { details: { calls: verdict.calls } },
      )
    case 'nothing_to_decide':
      return new InputError(
        `the failed step of session ${sessionId} has no call of unknown outcome: leave out \`unknown\` (--unknown).`,
      )
    case 'impossible':
      return impossible(sessionId, verdict.why, verdict.hasLetter)
  }
}

function impossible(sessionId: string, why: string, hasLetter = false): ConflictError {
  const instead = hasLetter
    ? `Begin a new session with its message: troupe mailbox redrive ${rootIdOf(sessionId)} --new-session`
    : 'Create a new session.'
  return new ConflictError(
    'transition_illegal',
    `the failed run of session ${sessionId} cannot go on: ${why}. ${instead}`,
  )
}

export type RetryOutlook =
  /** The step at which it would go on, in words. */
  | { readonly kind: 'step'; readonly run: number; readonly step: string }
  /** Somebody must first say what became of these calls. */
  | { readonly kind: 'undecided'; readonly calls: readonly string[] }
  | { readonly kind: 'impossible'; readonly why: string }

/** What `retrySession` would do now. Changes nothing. */
export async function retryOutlook(sessionId: string, store: InspectStore): Promise<RetryOutlook> {
  try {
    await checkFailed(store, sessionId)
    const { retried } = await orderOf(sessionId, { store, by: {} }, undefined)
    return { kind: 'step', ...retried }
  } catch (thrown) {
    if (!(thrown instanceof ConflictError)) throw thrown
    const { calls } = thrown.details as { readonly calls?: readonly string[] }
    return calls === undefined ? { kind: 'impossible', why: thrown.message } : { kind: 'undecided', calls }
  }
}
