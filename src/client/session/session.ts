/**
 * Duty: one session as programs see it: its report, result, events, limits and cancel.
 * SESSION-1 `result()` may be called at any time, before or after the end, and any number of times. It always returns the same result, unless a
 *           failed session was retried.
 */
import { checkOptions } from '../../core/check/check-options.ts'
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import { ConflictError, InputError, NotFoundError } from '../../core/errors.ts'
import type { TroupeEvent } from '../../core/event/event.ts'
import { encodeEvents } from '../../core/event/event-notes.ts'
import type { RunResult } from '../../core/history/entry.ts'
import { rootIdOf } from '../../core/ids.ts'
import type { Spending } from '../../core/policy.ts'
import type { ApprovalPolicy, SessionApproval } from '../../core/worker/ask/session-approval.ts'
import { sessionNotFound } from '../../core/worker/refusal.ts'
import type { CoarseState } from '../../core/worker/run/run-state.ts'
import type { InspectStore, SessionRow } from '../../store/audit/inspect-store.ts'
import { newestEntry } from '../../store/event/event-pages.ts'
import { partitionKeys, sessionKeys } from '../../store/keys.ts'
import type { Redis } from '../../store/redis/redis.ts'
import { type ContextUpdate, ContextUpdates } from '../event/context-updates.ts'
import type { EarlyNotes } from '../event/early-notes.ts'
import type { EventHub } from '../event/event-hub.ts'
import { orAborted } from '../or-aborted.ts'
import { setPolicy } from '../person/approval-policy.ts'
import type { Ask, Asks } from '../person/asks.ts'
import { pauseSession, resumeSession } from '../person/pause.ts'
import { type AsksQuery, type ResultQuery, resultRules } from '../queries.ts'
import { type Report, type SessionSummary, sessionReport, workerReport } from '../report.ts'
import { checkSpending } from '../submission/limits.ts'
import type { Submission } from '../submission/submission.ts'
import type { PauseOptions } from '../who-and-why.ts'
import { Worker } from '../worker.ts'
import { type ReadableRow, readRows, sessionDamage } from '../worker-rows.ts'
import { type ForkSession, forkSession } from './fork.ts'
import { awaitEnds } from './run/await-ends.ts'
import { checkReason, defaultReason } from './run/cancel-reason.ts'
import {
  type Retried,
  type RetryOutlook,
  type RetryQuery,
  retryOutlook,
  retryRules,
  retrySession,
} from './run/retry.ts'
import { Run } from './run/run.ts'
import { readStoredResult } from './run/stored-result.ts'
import { type EventsQuery, eventsRules, sessionEvents } from './session-events.ts'
import { factsOf, hasEnded, lastRunOf, resultOfRun, runInProgress, stateOf } from './session-summary.ts'

export interface SessionContext {
  readonly submission: Submission
  readonly asks: Asks
  readonly store: InspectStore
  readonly hub: EventHub
  readonly redis: Redis
  readonly tag: string
  readonly log: WorkerLog
  /** How long a read may take, also while Redis is away or busy. */
  readonly deadlineMs: number
}

/** How many workers of a session are in each of the coarse states. */
export type WorkerCounts = Readonly<Record<CoarseState, number>>

/** `Result`: what its root returns. */
export class Session<Result = unknown> {
  readonly id: string
  /** Set by `create` if its key was used before, or if the session may have to wait, for example for a kind that no node ever hosted. */
  readonly warning: string | null
  readonly #context: SessionContext
  #early: EarlyNotes | undefined
  /** The result of the session, once it is known without a read. */
  #result: RunResult | undefined

  constructor(id: string, context: SessionContext, warning: string | null = null, early?: EarlyNotes) {
    this.id = id
    this.#early = early
    this.#context = context
    this.warning = warning
  }

  get rootId(): string {
    return rootIdOf(this.id)
  }

  get root(): Worker {
    return new Worker(this.rootId, this.#context.submission, this.#context.store)
  }

  /** The record of the root, and the stored result of this run if one is named. Throws if another program wrote over it. */
  async #read(run?: number): Promise<SessionRow> {
    const { store, tag } = this.#context
    const row = await store.session(this.id, run)
    if (row === null) throw sessionNotFound(this.id)
    const damage = sessionDamage(store, this.id, row, sessionKeys(tag, this.id).runResults, run)
    if (damage !== null) throw damage
    return row
  }

  /** The session and the tree of its workers, as the records say now. */
  async report(): Promise<Report> {
    const { store } = this.#context
    const [createdAt, ids] = await Promise.all([store.createdAt(this.id), store.workerIds(this.id)])
    return this.#reportOf(createdAt, await readRows(store, ids))
  }

  /** The part of the report that needs only the root. So it is cheap, also for a session of thousands of workers. */
  async summary(): Promise<SessionSummary> {
    const { store } = this.#context
    const [createdAt, rows] = await Promise.all([store.createdAt(this.id), readRows(store, [this.rootId])])
    const { usage: _usage, holdups: _holdups, ...summary } = (await this.#reportOf(createdAt, rows)).session
    return summary
  }

  async #reportOf(createdAt: number | null, rows: readonly ReadableRow[]): Promise<Report> {
    const root = rows.find((row) => row.id === this.rootId)
    if (root?.damage) throw root.damage
    const workers = rows.map((row) => workerReport(row, this.id))
    const run = (root?.record.run ?? 1) - 1
    const { session, resultLine } = await this.#read(run)
    const facts = factsOf(this.id, session, createdAt, { run, line: resultLine })
    return { session: sessionReport(facts, session, workers), workers }
  }

  /**
   * A run of the root, with callbacks for its end. Without a number the same run whose result `result()` gives. Does not ask Redis.
   */
  run(number?: number): Run<Result> {
    checkOptions('run', { run: number }, { run: resultRules.run }, InputError)
    return new Run({ root: this.root, log: this.#context.log, result: (query) => this.result(query) }, number)
  }

  /**
   * The whole session once more, as it is at this moment: all workers with their histories, mailboxes, children, timers, asks, limits and usage, under new ids. Both
   * go on, and this one is not held up. Throws a ConflictError (`session_finished`) if it does not go on.
   */
  async fork(query: ForkSession = {}): Promise<Session<Result>> {
    const { submission } = this.#context
    return new Session(await forkSession(submission, this.id, query), this.#context)
  }

  /** How many of its workers have a run that is not over (`busy`), rest (`idle`), or rest after a failed run (`idleFailed`). */
  async counts(): Promise<WorkerCounts> {
    const counts = { idle: 0, busy: 0, idleFailed: 0 }
    for (const { lifecycle } of (await this.report()).workers) counts[lifecycle]++
    return counts
  }

  /**
   * Resolves with the counts once no worker of the session has a run that is not over: also none that is detached. Throws the reason of the signal if that
   * fires, and `client_closed` if the client is closed.
   */
  async idle(query: Pick<ResultQuery, 'signal'> = {}): Promise<WorkerCounts> {
    checkOptions('idle', query, { signal: resultRules.signal }, InputError)
    query.signal?.throwIfAborted()
    const look = async () => {
      // Even with thousands of workers, only the root is read while its own run is not over.
      const { session } = await this.#read()
      if (session.status !== 'idle' && session.status !== 'terminal') return undefined
      const counts = await this.counts()
      return counts.busy === 0 ? counts : undefined
    }
    return orAborted(awaitEnds(this.#context.hub, this.id, query.signal, look), query.signal)
  }

  /**
   * Resolves with the result of a run, once it has ended. Without a number, that is: for a job, the run that ended the session; for a
   * conversation, the run in progress, or the last run if the root is idle. Throws the reason of the signal if that fires, and `client_closed` if
   * the client is closed.
   */
  async result(query: ResultQuery = {}): Promise<RunResult<Result>> {
    checkOptions('result', query, resultRules, InputError)
    query.signal?.throwIfAborted()
    // The kind of the root has checked it.
    return orAborted(this.#awaitResult(query), query.signal) as Promise<RunResult<Result>>
  }

  /** What `result` would resolve with, if the run has ended; else undefined. Looks once, and does not wait. */
  async endedResult(query: Pick<ResultQuery, 'run'> = {}): Promise<RunResult<Result> | undefined> {
    checkOptions('endedResult', query, { run: resultRules.run }, InputError)
    const found = await this.#look(query.run, true)
    return typeof found === 'object' ? (found as RunResult<Result>) : undefined
  }

  async #awaitResult(query: ResultQuery): Promise<RunResult> {
    let wanted = query.run
    return awaitEnds(this.#context.hub, this.id, query.signal, async (missed) => {
      const found = await this.#look(wanted, missed, query.run !== undefined)
      if (typeof found === 'object') return found
      wanted = found
      return undefined
    })
  }

  // Returns the result, or the run to wait for (undefined: the end of the session). If an event will report the end, the record is not read,
  // unless no event came for long (`missed`). `isNamed`: the caller named the run.
  async #look(
    run: number | undefined,
    missed: boolean,
    isNamed = run !== undefined,
  ): Promise<RunResult | number | undefined> {
    if (run === undefined && this.#result) return this.#result
    const { hub } = this.#context
    const tracked = run === undefined ? hub.ended(this.id) : undefined
    if (tracked === null && !missed) return undefined
    if (tracked && tracked.result !== null) {
      // A session that failed may be retried, and then end in another way.
      if (tracked.result.status !== 'failed') this.#result = tracked.result
      hub.forget(this.id)
      return tracked.result
    }
    if (tracked && tracked.position !== null) return this.#readResult(null, tracked.status, tracked.position)
    const { session, resultLine } = await this.#read(run)
    const state = stateOf(session)
    const isOver = hasEnded(state)
    const last = session.end?.result
    if (run === undefined && last) return this.#readResult(last.run, last.status, last.position)
    const current = isOver ? lastRunOf(session) : runInProgress(session)
    const wanted = run ?? current
    if (wanted === null) return undefined
    const line = wanted === run ? resultLine : (await this.#read(wanted)).resultLine
    const result = resultOfRun(session, wanted, line)
    if (result) return this.#readResult(result.run, result.status, result.position)
    // What waited may have been an order, which begins no run.
    if (!isNamed && current !== null && current < wanted) return this.#look(current, true, false)
    if (!isOver) return wanted
    if (state === 'cancelled') return { status: 'cancelled', run: wanted }
    // Record and result are two reads, and a fail-over may come between them.
    const again = await this.#read(wanted)
    if (again.resultLine !== null || !hasEnded(stateOf(again.session))) return this.#look(run, true, isNamed)
    throw new NotFoundError('session_not_found', `session ${this.id} is ${state} and has no result of run ${wanted}.`)
  }

  // Returns undefined if the record does not tell of this result any more: then the caller looks again.
  async #readResult(run: number | null, status: RunResult['status'], position: number): Promise<RunResult | undefined> {
    const { store, hub } = this.#context
    const recorded = { sessionId: this.id, run, status, position }
    const result = await readStoredResult(store, recorded, () => this.#hasResultAt(run, position))
    if (result === undefined) hub.forget(this.id)
    return result
  }

  // If the session was pruned, its history is gone too. Then this throws that the session is not known.
  async #hasResultAt(run: number | null, position: number): Promise<boolean> {
    const { session, resultLine } = await this.#read(run ?? undefined)
    const places = [session.end?.result, run === null ? null : resultOfRun(session, run, resultLine)]
    return places.some((place) => place?.position === position)
  }

  /**
   * Follows the events of this session. With `after` (the id of an event, or "0-0" for all that are kept) past events come first. No event is
   * doubled, and none is missing between past and live ones. It ends after the event that ends the session, or when the client is closed.
   * What detached workers do later stands behind that event: read it with `after`, the id of that event.
   * Streamed text and progress of tools come between them as events that are not stored (`transient: true`). They carry the id of the event before
   * them, and may be lost. `{ transient: false }` leaves them out.
   * Fails with `session_not_found` if the session is gone, also later. Throws an InputError at once if the query can never be answered.
   */
  events(query: EventsQuery = {}): AsyncGenerator<TroupeEvent, void, undefined> {
    checkOptions('events', query, eventsRules, InputError)
    const { hub, redis, tag, store, deadlineMs } = this.#context
    const createdAt = () => store.createdAt(this.id)
    const early = this.#early
    this.#early = undefined
    const [hasEnded, wasRetried] = [() => this.#hasEnded(), () => this.#wasRetried()]
    const context = { hub, redis, tag, deadlineMs, early, createdAt, hasEnded, wasRetried }
    // Whoever writes an event must fit its type, so readers do not check it again.
    return sessionEvents(this.id, context, query) as AsyncGenerator<TroupeEvent, void, undefined>
  }

  /** For the API: the id of an event behind which all later events of this session are. */
  static eventNow(session: Session): Promise<string> {
    const { redis, tag, deadlineMs } = session.#context
    return newestEntry(redis, partitionKeys(tag), deadlineMs)
  }

  /**
   * Follows the session like `events`, as changes of the states of its runs: each with the state before, and with what came of a message (created, a
   * piece of it, completed, the status of a call). Made of events, so nothing more is stored or sent.
   */
  async *updates(query: EventsQuery = {}): AsyncGenerator<ContextUpdate, void, undefined> {
    const updates = new ContextUpdates()
    for await (const event of this.events(query)) yield* updates.of(event)
  }

  async #wasRetried(): Promise<boolean> {
    return (await this.#read()).session.retries > 0
  }

  async #hasEnded(): Promise<boolean> {
    return hasEnded(stateOf((await this.#read()).session))
  }

  /** What its workers ask of somebody outside, at any depth of the tree: open asks, unless `state` says otherwise. The oldest first. */
  asks(query: Omit<AsksQuery, 'sessionId'> = {}): Promise<Ask[]> {
    return this.#context.asks.list({ ...query, sessionId: this.id })
  }

  /**
   * Cancels the session. From now on none of its workers can start, spawn or commit, and neither can its detached workers. Returns false if the
   * session had ended before: then it keeps its state.
   */
  async cancel(reason = defaultReason): Promise<boolean> {
    checkReason(reason)
    const answer = await this.#context.submission
      .store(this.id, 'session')
      .cancel(this.id, reason, this.#context.submission.by)
    if (answer.kind === 'not_found') throw sessionNotFound(this.id)
    return answer.kind === 'ok'
  }

  /**
   * Pauses the session. Resolves once no node begins anything more in it: no `receive`, no model call and no tool. What runs goes on to its end, and
   * is recorded. Messages, timers and results wait in their order. A pause lasts until `resume`, whatever restarts in between. Throws
   * `session_finished` if the session has ended or is being cancelled.
   */
  async pause(why?: string, options: PauseOptions = {}): Promise<void> {
    await pauseSession(this.#context.submission, this.id, why, options)
  }

  /** Ends a pause: everything that waits goes on. Does nothing if the session is not paused. */
  async resume(why?: string, options: PauseOptions = {}): Promise<void> {
    await resumeSession(this.#context.submission, this.id, why, options)
  }

  /**
   * Changes what all agents of this session may use together. A limit that you leave out stays as it is. Resolves with the limits that hold now.
   * A running agent gets them with its next commit. Throws `session_finished` if the session is being cancelled, or has ended without detached
   * workers.
   */
  async limit(limits: Partial<Spending>): Promise<Spending> {
    const given = checkSpending(limits)
    const { submission } = this.#context
    const event = encodeEvents([['session.limited', { ...given, ...submission.by }]])
    const answer = await submission.store(this.id, 'session').limit(this.id, given, event)
    if (answer.kind === 'not_found') throw sessionNotFound(this.id)
    if (answer.kind === 'ok') return answer.caps
    throw new ConflictError(
      'session_finished',
      `session ${this.id} is ${answer.state} and spends no more: create a new session with higher limits.`,
    )
  }

  /**
   * Sets which tool calls a person is asked about: see `approval` of `sessions.create`. Trust in tools that was given before is taken back. Running
   * agents learn of it with their next commit. Asks that are open stay open: answer them. Resolves with what holds now.
   */
  async setApproval(policy: ApprovalPolicy): Promise<SessionApproval> {
    return setPolicy(this.#context.submission, this.id, policy)
  }

  /**
   * Lets a session go on whose last run failed: at the step that failed, with the history that it has. No recorded step is repeated. A call of a
   * `once` tool whose outcome is unknown needs a decision (`unknown`). `limits` replaces what all its agents may use together; without it that
   * stays as it is. Throws `transition_illegal` if the run cannot go on, and says why. Later failures can be retried again.
   */
  async retry(query: RetryQuery = {}): Promise<Retried> {
    checkOptions('retry', query, retryRules, InputError)
    const retried = await retrySession(this.id, this.#context, query)
    this.#context.hub.forget(this.id)
    return retried
  }

  /** What `retry` would do now: at which step it would go on, whether somebody must decide first, or why it cannot. Changes nothing. */
  retryOutlook(): Promise<RetryOutlook> {
    return retryOutlook(this.id, this.#context.store)
  }

  /** Ends a conversation once its worker has answered every message that waits. */
  async close(): Promise<void> {
    const { submission } = this.#context
    const answer = await submission.store(this.id, 'session').close(this.id, submission.by)
    if (answer.kind === 'not_found') throw sessionNotFound(this.id)
  }
}
