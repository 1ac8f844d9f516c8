/**
 * Duty: who is in a session and what each does, told from its events alone: for the lines that `run` prints and the counts that
 * `demo` draws. For watching only: a follower that joins late knows less, and nothing is decided by it.
 */
import type { RawEvent } from '../../core/event/event.ts'
import { textOf } from './text-of.ts'

export type Activity = 'queued' | 'running' | 'waiting' | 'done' | 'failed' | 'cancelled'

export interface Member {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly parentId: string | null
  readonly activity: Activity
  /** Children whose runs have not ended. */
  readonly openChildren: number
  readonly startedAt: number | null
}

interface Seat {
  id: string
  kind: string
  name: string
  parentId: string | null
  /** Its parent's count of open children holds it: until its first run ends, unless it is detached. */
  isAwaited: boolean
  activity: Activity
  openChildren: number
  startedAt: number | null
}

export class Roster {
  readonly #seats = new Map<string, Seat>()

  /** Takes one event in. */
  note(event: RawEvent): void {
    const { type, workerId, details } = event
    switch (type) {
      case 'session.created':
        this.#seat(workerId, textOf(details.kind), textOf(details.name), null)
        return
      case 'worker.spawned':
        this.#spawned(workerId, details)
        return
      case 'run.started':
        this.#change(workerId, 'running', event.at)
        return
      case 'message.consumed':
      case 'model.blanked':
      case 'model.replied':
      case 'tool.failed':
      case 'tool.started':
      case 'tool.succeeded':
      case 'tool.unknown':
      case 'turn.parked':
      case 'turn.retried':
      case 'worker.stateChanged':
        if (!isOver(this.#seats.get(workerId)?.activity))
          this.#change(workerId, type === 'turn.retried' ? 'waiting' : 'running')
        return
      case 'run.completed':
        this.#change(workerId, 'done')
        return
      case 'worker.failed':
        this.#change(workerId, 'failed')
        return
      case 'worker.cancelled':
        this.#change(workerId, 'cancelled')
        return
      case 'events.trimmed':
      case 'message.accepted':
      case 'message.deadLettered':
      case 'message.redriven':
      case 'session.cancelRequested':
      case 'session.limited':
      case 'session.cancelled':
      case 'session.completed':
      case 'session.failed':
      case 'text.delta':
      case 'reasoning.delta':
      case 'tool.progress':
        return
    }
  }

  member(id: string): Member | undefined {
    return this.#seats.get(id)
  }

  /** How many do what, of one kind or of all. */
  counts(kind?: string): Readonly<Record<Activity, number>> {
    const counts: Record<Activity, number> = { queued: 0, running: 0, waiting: 0, done: 0, failed: 0, cancelled: 0 }
    for (const seat of this.#seats.values()) if (kind === undefined || seat.kind === kind) counts[seat.activity]++
    return counts
  }

  /** In the order in which the first of each came. */
  kinds(): string[] {
    return [...new Set([...this.#seats.values()].map(({ kind }) => kind))]
  }

  get size(): number {
    return this.#seats.size
  }

  #spawned(parentId: string, { id, kind, name, detached }: Readonly<Record<string, unknown>>): void {
    if (typeof id !== 'string' || this.#seats.has(id)) return
    const parent = this.#seats.get(parentId)
    const isAwaited = parent !== undefined && detached !== true
    this.#seat(id, textOf(kind), textOf(name), parentId, isAwaited)
    if (!isAwaited) return
    parent.openChildren++
    if (parent.activity === 'running') parent.activity = 'waiting'
  }

  #seat(id: string, kind: string, name: string, parentId: string | null, isAwaited = false): void {
    this.#seats.set(id, { id, kind, name, parentId, isAwaited, activity: 'queued', openChildren: 0, startedAt: null })
  }

  #change(id: string, activity: Activity, startedAt?: number): void {
    const seat = this.#seats.get(id)
    if (!seat) return
    if (startedAt !== undefined) seat.startedAt = startedAt
    seat.activity = activity === 'running' && seat.openChildren > 0 ? 'waiting' : activity
    if (isOver(activity) && seat.isAwaited) this.#childEnded(seat)
  }

  #childEnded(child: Seat): void {
    child.isAwaited = false
    const parent = this.#seats.get(child.parentId ?? '')
    if (!parent) return
    parent.openChildren = Math.max(0, parent.openChildren - 1)
    // Its last result is on its way: it waits for a slot now, not for a child.
    if (parent.openChildren === 0 && parent.activity === 'waiting') parent.activity = 'queued'
  }
}

function isOver(activity: Activity | undefined): boolean {
  return activity === 'done' || activity === 'failed' || activity === 'cancelled'
}
