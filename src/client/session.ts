/**
 * Duty: one session as programs see it.
 * Results are latched: `result()` may be asked at any time, before or after the end, any number of times.
 */
import { checkOptions } from '../core/check/check-options.ts'
import { preview } from '../core/check/preview.ts'
import { ConflictError, InputError, InvariantError, NotFoundError } from '../core/errors.ts'
import type { TroupeEvent } from '../core/event/event.ts'
import { encodeEvents } from '../core/event/event-notes.ts'
import { decodeEntry, type Entry, type RunResult } from '../core/history/entry.ts'
import { rootIdOf } from '../core/ids.ts'
import { policy, type Spending } from '../core/policy.ts'
import { sessionNotFound } from '../core/worker/refusal.ts'
import type { InspectStore, SessionRow } from '../store/inspect-store.ts'
import { sessionKeys } from '../store/keys.ts'
import { clientClosed, type Redis } from '../store/redis/redis.ts'
import type { EventHub } from './event-hub.ts'
import { checkSpending } from './limits.ts'
import { orAborted } from './or-aborted.ts'
import { type ResultQuery, resultRules } from './queries.ts'
import { type Report, type SessionSummary, sessionReport, workerReport } from './report.ts'
import { type EventsQuery, eventsRules, sessionEvents } from './session-events.ts'
import { factsOf, hasEnded, lastRunOf, resultOfRun, runInProgress, stateOf } from './session-summary.ts'
import type { Submission } from './submission.ts'
import { Worker } from './worker.ts'
import { type ReadableRow, readRows, sessionDamage } from './worker-rows.ts'

export interface SessionContext {
  readonly submission: Submission
  readonly store: InspectStore
  readonly hub: EventHub
  readonly redis: Redis
  readonly tag: string
  /** How long a read may take while Redis is away, or busy. */
  readonly deadlineMs: number
}

/** Events tell at once; should one be missed, the record is read after this long, and then ever more rarely: thousands may wait for days. */
const pollMs = 2_000
const pollMsMax = 10_000

export class Session {
  readonly id: string
  /** Set by `create`: that its key was used before, or why it may have to wait, such as a kind that no node has ever hosted. */
  readonly warning: string | null
  readonly #context: SessionContext
  /** With which the session ended, once it is known without asking Redis. */
  #result: RunResult | undefined

  constructor(id: string, context: SessionContext, warning: string | null = null) {
    this.id = id
    this.#context = context
    this.warning = warning
  }

  get rootId(): string {
    return rootIdOf(this.id)
  }

  get root(): Worker {
    return new Worker(this.rootId, this.#context.submission, this.#context.store)
  }

  /** What the root says of the session, with the line of this run's result where one is named. */
  async #read(run?: number): Promise<SessionRow> {
    const { store, tag } = this.#context
    const row = await store.session(this.id, run)
    if (row === null) throw sessionNotFound(this.id)
    const damage = sessionDamage(store, this.id, row, sessionKeys(tag, this.id).runResults, run)
    if (damage !== null) throw damage
    return row
  }

  /** The supervisor's report: the session and the tree of its workers, as the records say now. */
  async report(): Promise<Report> {
    const { store } = this.#context
    const [createdAt, ids] = await Promise.all([store.createdAt(this.id), store.workerIds(this.id)])
    return this.#reportOf(createdAt, await readRows(store, ids))
  }

  /** The part of the report that needs only the root. It reads one record, even if the session has thousands of workers. */
  async summary(): Promise<SessionSummary> {
    const { store } = this.#context
    const [createdAt, rows] = await Promise.all([store.createdAt(this.id), readRows(store, [this.rootId])])
    const { usage: _ofAllWorkers, ...summary } = (await this.#reportOf(createdAt, rows)).session
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
   * The result of a run. Default: of a job, that with which the session ended; of a conversation, that of the run in progress,
   * or of the last one when the root is idle. Throws the signal's reason when aborted, and `client_closed` when the client is closed.
   */
  async result(query: ResultQuery = {}): Promise<RunResult> {
    checkOptions('result', query, resultRules, InputError)
    query.signal?.throwIfAborted()
    return orAborted(this.#awaitResult(query), query.signal)
  }

  async #awaitResult(query: ResultQuery): Promise<RunResult> {
    const { hub } = this.#context
    let woken = Promise.withResolvers<void>()
    const wake = () => woken.resolve()
    query.signal?.addEventListener('abort', wake)
    try {
      await hub.wakeAtEnds(this.id, wake)
      let wanted = query.run
      let missed = false
      for (let ms = pollMs; ; ms = missed ? Math.min(ms * 2, pollMsMax) : pollMs) {
        query.signal?.throwIfAborted()
        woken = Promise.withResolvers<void>()
        const found = await this.#look(wanted, missed)
        if (typeof found === 'object') return found
        if (hub.isStopped) throw clientClosed()
        wanted = found
        missed = false
        const timer = setTimeout(() => {
          missed = true
          wake()
        }, ms)
        await woken.promise
        clearTimeout(timer)
      }
    } finally {
      hub.stopWaking(this.id, wake)
      query.signal?.removeEventListener('abort', wake)
    }
  }

  // The result, or the run to wait for (undefined: the end of the session). The record is read unless an event will tell; also
  // then when none came for long.
  async #look(run: number | undefined, missed: boolean): Promise<RunResult | number | undefined> {
    if (run === undefined && this.#result) return this.#result
    const tracked = run === undefined ? this.#context.hub.ended(this.id) : undefined
    if (tracked === null && !missed) return undefined
    if (tracked && tracked.result !== null) {
      this.#result = tracked.result
      this.#context.hub.forget(this.id)
      return this.#result
    }
    if (tracked && tracked.position !== null) return this.#readResult(null, tracked.status, tracked.position)
    const { session, resultLine } = await this.#read(run)
    const state = stateOf(session)
    const isOver = hasEnded(state)
    const last = session.end?.result
    if (run === undefined && last) return this.#readResult(last.run, last.status, last.position)
    const wanted = run ?? (isOver ? lastRunOf(session) : runInProgress(session))
    if (wanted === null) return undefined
    const line = wanted === run ? resultLine : (await this.#read(wanted)).resultLine
    const result = resultOfRun(session, wanted, line)
    if (result) return this.#readResult(result.run, result.status, result.position)
    if (!isOver) return wanted
    if (state === 'cancelled') return { status: 'cancelled', run: wanted }
    throw new NotFoundError('session_not_found', `session ${this.id} is ${state} and has no result of run ${wanted}.`)
  }

  async #readResult(run: number | null, status: RunResult['status'], position: number): Promise<RunResult> {
    const place = `entry ${position} of the history of worker ${this.rootId}`
    const json = await this.#context.store.entryAt(this.rootId, position)
    // It is gone with its session, where that was pruned in between.
    if (json === null && status !== 'cancelled') await this.#read()
    return resultOf(json === null ? null : decodeEntry(json), status, run, place)
  }

  /**
   * Events of this session, live; with `after` (an event id, or "0-0" for all that are kept) past ones first. Ends after the event
   * with which the session ended, or when the client is closed. Nothing is doubled or left out between past and live.
   * Between them come, as they are said, events that are not kept (`transient: true`): text as it streams and progress of tools. They
   * carry the id of the event before them, and may be lost; `{ transient: false }` leaves them out.
   * Fails with `session_not_found` when the session is gone, also while it is followed.
   * Throws an InputError, at once, for a query that can never be answered.
   */
  events(query: EventsQuery = {}): AsyncGenerator<TroupeEvent, void, undefined> {
    checkOptions('events', query, eventsRules, InputError)
    const { hub, redis, tag, store, deadlineMs } = this.#context
    const createdAt = () => store.createdAt(this.id)
    const context = { hub, redis, tag, deadlineMs, createdAt, hasEnded: () => this.#hasEnded() }
    // What writes an event is held to its type; nobody looks again.
    return sessionEvents(this.id, context, query) as AsyncGenerator<TroupeEvent, void, undefined>
  }

  async #hasEnded(): Promise<boolean> {
    return hasEnded(stateOf((await this.#read()).session))
  }

  /**
   * From now on nothing of the session can start, spawn or commit, also no detached worker that outlived it. False when it had
   * already ended by itself: then it stays as it ended.
   */
  async cancel(reason = 'cancelled by the caller'): Promise<boolean> {
    if (typeof reason !== 'string' || Buffer.byteLength(reason) > policy.reasonBytesMax)
      throw new InputError(
        `reason of cancel must be a text of at most ${policy.reasonBytesMax} bytes, not ${preview(reason)}.`,
      )
    const answer = await this.#context.submission.store(this.id, 'session').cancel(this.id, reason)
    if (answer.kind === 'not_found') throw sessionNotFound(this.id)
    return answer.kind === 'ok'
  }

  /**
   * Sets anew what the agents of this session may use, all of them together; what is left out stays as it is. Resolves with what holds now.
   * An agent that is running learns of it with its next commit. Throws `session_finished` for a session that is being cancelled, or has
   * ended and left no detached workers.
   */
  async limit(limits: Partial<Spending>): Promise<Spending> {
    const given = checkSpending(limits)
    const event = encodeEvents([['session.limited', given]])
    const answer = await this.#context.submission.store(this.id, 'session').limit(this.id, given, event)
    if (answer.kind === 'not_found') throw sessionNotFound(this.id)
    if (answer.kind === 'ok') return answer.caps
    throw new ConflictError(
      'session_finished',
      `session ${this.id} is ${answer.state} and spends no more: create a new session with higher limits.`,
    )
  }

  /** Ends a conversation when what waits has been answered. */
  async close(): Promise<void> {
    const answer = await this.#context.submission.store(this.id, 'session').close(this.id)
    if (answer.kind === 'not_found') throw sessionNotFound(this.id)
  }
}

/** The result that a history entry holds; `where` says where it was read. */
function resultOf(entry: Entry | null, status: RunResult['status'], run: number | null, where: string): RunResult {
  const number = run ?? entry?.run ?? 1
  if (status === 'cancelled') return { status, run: number }
  if (entry === null) throw unreadableResult(`${where} should be there`)
  if (status === 'failed' && entry.type === 'failed') return { status, run: number, failure: entry.failure }
  if (status === 'completed' && entry.type === 'completed') return { status, run: number, value: entry.value }
  throw unreadableResult(`${where} should be that it ${status}`)
}

function unreadableResult(damaged: string): InvariantError {
  return new InvariantError(`the result cannot be read: ${damaged}. Another program wrote it.`, {
    details: { damaged },
  })
}
