/**
 * Duty: tell the workers of a session and the activity of each, from the events alone, for whoever shows a session as it runs.
 * ACTIVITY-1 It is for watching only. A follower that joins late knows fewer workers, and no decision depends on it.
 */
import { isObject } from '../../core/check/is-object.ts'
import type { RawEvent } from '../../core/event/event.ts'
import {
  type Activity,
  activities,
  activityOfFailure,
  activityOfState,
  isActive,
  isOver,
} from '../../core/worker/run/activity.ts'
import { type FineState, fineStates } from '../../core/worker/run/run-state.ts'
import type { WorkerReport } from '../report.ts'

export interface Member {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly parentId: string | null
  readonly activity: Activity
  /** The number of children whose runs have not ended. */
  readonly openChildren: number
  readonly startedAt: number | null
}

interface Seat {
  id: string
  kind: string
  name: string
  parentId: string | null
  /** The parent counts it as an open child: until its first run ends, and never if it is detached. */
  isAwaited: boolean
  activity: Activity
  openChildren: number
  startedAt: number | null
}

const activityAfter = {
  'message.consumed': 'working',
  'step.recorded': 'working',
  'model.blanked': 'working',
  'model.replied': 'working',
  'tool.failed': 'working',
  'tool.succeeded': 'working',
  'tool.unknown': 'working',
  'tool.progress': 'using a tool',
  'tool.started': 'using a tool',
  'worker.interrupted': 'queued',
  'turn.retried': 'waiting',
} as const

const activityAtEnd = { 'run.completed': 'done', 'worker.cancelled': 'cancelled' } as const

export class Roster {
  readonly #seats = new Map<string, Seat>()

  note({ type, workerId, details, at }: RawEvent): void {
    switch (type) {
      case 'session.created':
        this.#created(workerId, details)
        return
      case 'worker.spawned':
        this.#spawned(workerId, details)
        return
      case 'run.started':
        // A handler writes it behind the work on its first message.
        this.#change(workerId, 'working', at - Number(details.ms ?? 0))
        return
      case 'message.consumed':
      case 'step.recorded':
      case 'model.blanked':
      case 'model.replied':
      case 'tool.failed':
      case 'tool.succeeded':
      case 'tool.unknown':
      case 'tool.progress':
      case 'tool.started':
      case 'worker.interrupted':
      case 'turn.retried':
        this.#goOn(workerId, activityAfter[type])
        return
      case 'worker.stateChanged':
        this.#changed(workerId, details.state, at)
        return
      case 'run.completed':
      case 'worker.cancelled':
      case 'worker.failed':
        this.#change(workerId, type === 'worker.failed' ? activityOfFailed(details) : activityAtEnd[type])
        return
      case 'message.accepted':
      case 'session.retried':
        if (details.kind !== 'timer' && details.kind !== 'order') this.#runAgain(workerId)
        return
      case 'context.compacted':
      case 'compaction.failed':
      case 'context.changed':
      case 'worker.configured':
      case 'context.cleared':
      case 'ask.answered':
      case 'ask.expired':
      case 'ask.opened':
      case 'events.trimmed':
      case 'events.dropped':
      case 'run.warned':
      case 'message.deadLettered':
      case 'message.redriven':
      case 'message.undelivered':
      case 'session.paused':
      case 'session.resumed':
      case 'session.closeRequested':
      case 'session.cancelRequested':
      case 'worker.cancelRequested':
      case 'session.forked':
      case 'session.limited':
      case 'session.approvalChanged':
      case 'session.cancelled':
      case 'session.completed':
      case 'session.failed':
      case 'text.delta':
      case 'reasoning.delta':
      case 'worker.blocked':
      case 'worker.logged':
      case 'iteration.completed':
    }
  }

  #created(workerId: string, { kind, name, rests }: RawEvent['details']): void {
    this.#seat(workerId, textOr(kind), textOr(name), null)
    // It has no first message yet.
    if (rests === true) this.#change(workerId, 'waiting')
  }

  /**
   * Takes over from a record what events do not say: that a worker waits, and workers whose events are gone. Whether a worker runs, and whether its
   * run has ended, events say earlier.
   */
  learn({ id, kind, name, parentId, activity }: WorkerReport): void {
    const known = this.#seats.get(id)
    if (known === undefined) this.#seat(id, kind, name, parentId)
    else if (isOver(known.activity) || (isActive(known.activity) && isActive(activity))) return
    this.#change(id, activity)
  }

  member(id: string): Member | undefined {
    return this.#seats.get(id)
  }

  /** All workers, parents before their children. */
  members(): IterableIterator<Member> {
    return this.#seats.values()
  }

  /** The number of workers for each activity, of one kind or of all kinds. */
  counts(kind?: string): Readonly<Record<Activity, number>> {
    const counts = Object.fromEntries(activities.map((activity) => [activity, 0])) as Record<Activity, number>
    for (const seat of this.#seats.values()) if (kind === undefined || seat.kind === kind) counts[seat.activity]++
    return counts
  }

  /** Kinds in the order of their first workers. */
  kinds(): string[] {
    return [...new Set([...this.#seats.values()].map(({ kind }) => kind))]
  }

  /** `reader docs`, or `docs` if the name says the kind already; undefined for a worker that is not known. */
  labelOf(id: string): string | undefined {
    const seat = this.#seats.get(id)
    if (!seat) return undefined
    const { kind, name } = seat
    return name.startsWith(kind) || name === '' ? name || kind : `${kind} ${name}`
  }

  get size(): number {
    return this.#seats.size
  }

  #spawned(parentId: string, { id, kind, name, detached }: Readonly<Record<string, unknown>>): void {
    if (typeof id !== 'string' || this.#seats.has(id)) return
    const parent = this.#seats.get(parentId)
    const isAwaited = parent !== undefined && detached !== true
    this.#seat(id, textOr(kind), textOr(name), parentId, isAwaited)
    if (!isAwaited) return
    parent.openChildren++
    if (isActive(parent.activity)) parent.activity = 'waiting'
  }

  /** The stored events tell how a run ends, and in which order the next one begins. */
  #changed(id: string, state: unknown, at: number): void {
    if (!isFineState(state) || isOver(activityOfState(state))) return
    this.#goOn(id, activityOfState(state))
    const seat = this.#seats.get(id)
    if (seat !== undefined && !isOver(seat.activity)) seat.startedAt ??= at
  }

  #seat(id: string, kind: string, name: string, parentId: string | null, isAwaited = false): void {
    this.#seats.set(id, { id, kind, name, parentId, isAwaited, activity: 'queued', openChildren: 0, startedAt: null })
  }

  /** Notes that the next run begins, or that the last one goes on. Until its first commit only transient events tell what the worker does. */
  #runAgain(id: string): void {
    const seat = this.#seats.get(id)
    if (seat === undefined || !isOver(seat.activity)) return
    seat.startedAt = null
    this.#change(id, 'queued')
  }

  /** A late event of a run that has ended changes nothing. */
  #goOn(id: string, activity: Activity): void {
    if (!isOver(this.#seats.get(id)?.activity)) this.#change(id, activity)
  }

  #change(id: string, activity: Activity, startedAt?: number): void {
    const seat = this.#seats.get(id)
    if (!seat) return
    if (startedAt !== undefined) seat.startedAt = startedAt
    seat.activity = activity === 'working' && seat.openChildren > 0 ? 'waiting' : activity
    if (isOver(activity) && seat.isAwaited) this.#childEnded(seat)
  }

  #childEnded(child: Seat): void {
    child.isAwaited = false
    const parent = this.#seats.get(child.parentId ?? '')
    if (!parent) return
    parent.openChildren = Math.max(0, parent.openChildren - 1)
    // The last result is on its way, so the parent waits for a slot now.
    if (parent.openChildren === 0 && parent.activity === 'waiting') parent.activity = 'queued'
  }
}

function isFineState(value: unknown): value is FineState {
  return (fineStates as readonly unknown[]).includes(value)
}

function activityOfFailed({ failure }: RawEvent['details']): Activity {
  return activityOfFailure(isObject(failure) ? failure.code : undefined)
}

/** Details of an event come from Redis: another program may have written them. */
function textOr(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
