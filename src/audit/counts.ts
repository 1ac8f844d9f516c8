/**
 * Duty: count what became of every accepted message (I16): accepted = completed + failed + cancelled + dead + waiting + active + removed.
 * COUNT-1 A message ends as the run that received it ends. Each message of a run counts.
 */
import type { Lane } from '../core/worker/message/message.ts'
import { type Sort, sorts } from './history-fold.ts'
import { acceptedIn, type Seen } from './worker-rules.ts'

export interface MessageCounts {
  readonly accepted: number
  /** Messages that a run received which completed, failed or was cancelled. A message that was dropped at the end of its run counts as cancelled. */
  readonly completed: number
  readonly failed: number
  readonly cancelled: number
  /** Put aside because it took nodes down. */
  readonly dead: number
  /** Messages in a mailbox, which a run will receive. */
  readonly waiting: number
  /** Received by a run that has not ended. */
  readonly active: number
  /** Messages of sessions that were pruned. */
  readonly removed: number
}

export type Counts = Readonly<Record<'inputs' | 'results' | 'signals' | 'all', MessageCounts>>

const none: MessageCounts = {
  accepted: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  dead: 0,
  waiting: 0,
  active: 0,
  removed: 0,
}

const laneOf: Readonly<Record<Sort, Lane>> = { input: 'inbox', result: 'results', signal: 'signals' }

export class Tally {
  readonly #of: Record<Sort, MessageCounts> = { input: none, result: none, signal: none }

  add(seen: Seen): void {
    for (const sort of sorts) this.#of[sort] = plus(this.#of[sort], countsOf(seen, sort))
  }

  remove(retired: Readonly<Record<Lane, number>>): void {
    for (const sort of sorts) {
      const removed = retired[laneOf[sort]]
      this.#of[sort] = plus(this.#of[sort], { ...none, accepted: removed, removed })
    }
  }

  get counts(): Counts {
    const { input, result, signal } = this.#of
    return { inputs: input, results: result, signals: signal, all: plus(plus(input, result), signal) }
  }
}

function countsOf({ picture, fold }: Seen, sort: Sort): MessageCounts {
  const lane = laneOf[sort]
  const { length, heads } = picture.lanes[lane]
  const { completed, failed, cancelled } = fold.ended[sort]
  const left = length - heads.filter((head) => head === '').length
  const accepted = acceptedIn(picture, lane)
  const dead = sort === 'input' ? fold.deadRuns : 0
  const active = fold.open.received[sort]
  // A worker that was cancelled for good receives nothing more.
  const stays = picture.record.status === 'terminal' ? left : 0
  // Results and signals that come for a run which has ended are dropped.
  const dropped = sort === 'input' ? 0 : Math.max(0, accepted - left - completed - failed - cancelled - active)
  // An order begins no run, and is done when it is received.
  const orders = sort === 'input' ? fold.orders : 0
  const known = { completed: completed + orders, failed, cancelled: cancelled + dropped + stays }
  return { ...known, accepted, dead, waiting: left - stays, active, removed: 0 }
}

function plus(a: MessageCounts, b: MessageCounts): MessageCounts {
  return {
    accepted: a.accepted + b.accepted,
    completed: a.completed + b.completed,
    failed: a.failed + b.failed,
    cancelled: a.cancelled + b.cancelled,
    dead: a.dead + b.dead,
    waiting: a.waiting + b.waiting,
    active: a.active + b.active,
    removed: a.removed + b.removed,
  }
}
