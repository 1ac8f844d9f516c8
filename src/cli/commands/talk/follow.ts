/**
 * Duty: follows a session until its run has ended, shows each commit on the way, and cancels that run if the person interrupts.
 * FOLLOW-1 Events are for watching. The result comes from the record, so that a follower that fails or lags delays nothing.
 * FOLLOW-2 After an interrupt the wait is bounded: a session whose nodes are gone cannot keep the person waiting.
 * FOLLOW-3 A lost terminal cancels nothing. The follower leaves, and the session goes on.
 */

import { Roster } from '../../../client/event/activity.ts'
import type { Session } from '../../../client/session/session.ts'
import { ConflictError, TransientError } from '../../../core/errors.ts'
import { type EventType, type RawEvent, streamIdOf } from '../../../core/event/event.ts'
import type { RunResult } from '../../../core/history/entry.ts'
import { toComplaint } from '../../exit-code.ts'
import type { Interrupt } from '../../terminal/interrupt.ts'
import { safe } from '../../terminal/output.ts'
import type { SessionView } from '../../terminal/session-view.ts'

/** A stream id may be a little older than the time of the session, because of how Redis keeps its clock. */
const beginningMsMargin = 1_000
/** How long the last events may take to arrive after the result. */
const lastEventsMsMax = 1_000
/** How long a cancel may take after an interrupt. */
const cancelMsMax = 10_000
/** How often the records are read for a view that asks for them: seldom for a large session. */
const recordsEveryMs = (workers: number) => (workers <= 100 ? 1_000 : workers <= 1_000 ? 3_000 : 15_000)

const rootEnds: ReadonlySet<EventType> = new Set<EventType>(['run.completed', 'worker.failed', 'worker.cancelled'])

/** Shows the events of one session until it is disposed of, or until the session ends. */
export class Follower implements AsyncDisposable {
  readonly roster = new Roster()
  /** Called for each stored event, after the view has it. */
  onEvent: (event: RawEvent) => void = () => {}
  readonly #session: Session
  readonly #view: SessionView
  readonly #wantsLog: (event: RawEvent) => boolean
  readonly #from: 'beginning' | 'now'
  readonly #over = new AbortController()
  /** Resolves when no more events come. Never rejects. */
  readonly ended: Promise<void>
  #timer: NodeJS.Timeout | undefined
  /** How many runs of the first worker have ended, as far as the events say. */
  #rootEnds = 0
  #onRootEnd = () => {}

  /** `wantsLog` selects the lines of workers' logs that are shown; without it none is. `from`: `now` for a session whose past is known. */
  constructor(
    session: Session,
    view: SessionView,
    wantsLog: (event: RawEvent) => boolean = () => false,
    from: 'beginning' | 'now' = 'beginning',
  ) {
    this.#session = session
    this.#from = from
    this.#wantsLog = wantsLog
    this.#view = view
    this.ended = this.#showEvents().catch((thrown: unknown) => {
      if (!this.#over.signal.aborted)
        view.tell(`troupe: events are no longer followed: ${safe(toComplaint(thrown).message)}`)
    })
    if (view.fill) this.#readRecordsIn(recordsEveryMs(0))
  }

  /** Waits for events that are on their way, but not for long. */
  async catchUp(): Promise<void> {
    await orAfter(this.ended, lastEventsMsMax)
  }

  /** The same for the events of so many runs of the first worker. */
  async catchUpWithRuns(runs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onRootEnd = () => this.#rootEnds >= runs && resolve()
    this.#onRootEnd()
    await orAfter(promise, lastEventsMsMax)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#over.abort()
    await this.catchUp()
  }

  /** Events that were stored together share a stream id and arrive together. */
  async #showEvents(): Promise<void> {
    const { roster } = this
    const { signal } = this.#over
    const after = this.#from === 'now' ? undefined : await this.#beginning()
    let commit: RawEvent[] = []
    const flush = () => {
      if (commit.length > 0) this.#view.showCommit(commit, roster)
      for (const event of commit) this.onEvent(event)
      this.#rootEnds += commit.filter(
        ({ type, workerId }) => rootEnds.has(type) && workerId === this.#session.rootId,
      ).length
      commit = []
      this.#onRootEnd()
    }
    try {
      for await (const event of this.#session.events({ after, signal })) {
        if (event.type === 'worker.logged' && !this.#wantsLog(event)) continue
        if (event.transient) {
          flush()
          roster.note(event)
          this.#view.showLive(event, roster)
          continue
        }
        if (commit[0] !== undefined && streamIdOf(commit[0].id) !== streamIdOf(event.id)) flush()
        if (commit.length === 0) setImmediate(flush)
        commit.push(event)
        roster.note(event)
      }
    } finally {
      flush()
    }
  }

  /** The follower begins before the very first event: workers that were spawned early are part of the picture. */
  async #beginning(): Promise<string> {
    const { createdAt } = await this.#session.summary()
    return createdAt === null ? '0-0' : `${createdAt - beginningMsMargin}-0`
  }

  #readRecordsIn(ms: number): void {
    this.#timer = setTimeout(() => {
      const readAt = Date.now()
      const read = this.#session.report().then(({ workers }) => {
        if (this.#timer) this.#view.fill?.(workers, this.roster, readAt)
      })
      // The wait for the result reports that Redis is away.
      void read.catch(() => {}).then(() => this.#timer && this.#readRecordsIn(recordsEveryMs(this.roster.size)))
    }, ms)
  }
}

/** Returns the result; undefined if the person interrupted and the session has not ended by now. */
export async function followToEnd(
  session: Session,
  interrupt: Interrupt,
  view: SessionView,
  follower = new Follower(session, view),
): Promise<RunResult | undefined> {
  await using following = follower
  const result = await resultOrCancel(session, interrupt, view)
  if (result) await following.catchUp()
  return result
}

/**
 * Rejects when Redis is away: only a wait for a result notices that, while the follower would wait for it in silence. A conversation that rests has a
 * result already, so this waits for that of its next run.
 */
export async function watchRuns(session: Pick<Session, 'result'>, signal: AbortSignal): Promise<void> {
  let { run } = await session.result({ signal })
  for (;;) {
    try {
      run = (await session.result({ signal, run: run + 1 })).run
    } catch (thrown) {
      // The session has ended, and has no further run.
      if (!(thrown instanceof TransientError)) return
      throw thrown
    }
  }
}

const interruptReason = 'interrupted at the command line'

/**
 * Cancels the run of the first worker. A session whose run has ended meanwhile is left as it ended, and so is a conversation: it rests. A job without a
 * run in progress is cancelled.
 */
export async function cancelRunOf(session: Session): Promise<void> {
  try {
    if (await session.root.cancelRun(interruptReason)) return
    const { mode } = await session.summary()
    if (mode === 'job') await session.cancel(interruptReason)
  } catch (thrown) {
    if (!(thrown instanceof ConflictError)) throw thrown
  }
}

/**
 * Waits for the result of a run. If the person interrupts, it cancels that run, and waits for its end. Undefined if it has not ended by
 * now.
 */
export async function resultOrCancel(
  session: Session,
  interrupt: Interrupt,
  view: SessionView,
  run?: number,
): Promise<RunResult | undefined> {
  const leave = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const stop = () => {
    if (interrupt.isHangUp) {
      leave.abort()
      return
    }
    timer = setTimeout(() => leave.abort(), cancelMsMax)
    cancelRunOf(session).catch((thrown: unknown) => {
      view.tell(`troupe: the run could not be cancelled: ${safe(toComplaint(thrown).message)}`)
      leave.abort()
    })
  }
  if (interrupt.signal.aborted) stop()
  else interrupt.signal.addEventListener('abort', stop, { once: true })
  try {
    return await session.result({ signal: leave.signal, run })
  } catch (thrown) {
    if (leave.signal.aborted) return undefined
    throw thrown
  } finally {
    clearTimeout(timer)
    interrupt.signal.removeEventListener('abort', stop)
  }
}

async function orAfter(promise: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  await Promise.race([promise, new Promise((resolve) => (timer = setTimeout(resolve, ms)))])
  clearTimeout(timer)
}
