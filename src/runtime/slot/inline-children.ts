/**
 * Duty: the children that a slot runs itself, right after the turn that spawned them, instead of claiming from its run queue.
 * Owns: which children are offered to the slot, which of them it got with the commit, and their order. Does not own: how a turn runs.
 * INLINE-1 One handler at a time. A child begins when the child before it asks for its end, even if that commit is not answered yet. The ends of
 *    all of them then leave in few scripts.
 * INLINE-2 No child waits for a long one: after `inlineMs` the slot releases the children that have not begun, and other slots claim them.
 * INLINE-3 No child begins once another one was aborted or paused: the slot releases it, and its next claim learns of a cancel (I12) or a pause.
 * INLINE-4 If the commit was not answered, the slot may hold every child that it was offered: it releases all of them, and runs none.
 */
import { performance } from 'node:perf_hooks'
import type { Assignment, CommitAnswer, SlotOffer, SpawnOrder } from '../../core/ports/ports.ts'
import { childAssignment } from '../../core/worker/child-assignment.ts'
import type { Kind } from '../node/kind.ts'
import type { Step } from '../turn/step/step.ts'
import type { Turn } from '../turn/turn.ts'
import type { EndingTurn } from '../turn/turn-host.ts'
import { newNonce } from './nonces.ts'

/** Children that the ending commit of a turn offers to its slot. */
export interface ChildOffer {
  /** The assignment of the turn, at the run that spawns: the turn may have gone through several runs since its claim. */
  readonly parent: Assignment
  readonly spawns: readonly SpawnOrder[]
  readonly offer: SlotOffer
}

/**
 * Offers the first children that the slot may run itself: handlers of its own pool, `most` of them. A child whose kind has `onCancel` is not
 * among them, because its record must say that its run has begun, which a claim writes. A run that ends with this step has its
 * children cancelled as they are born.
 */
export function offerOf(
  { assignment }: EndingTurn,
  { spawns, outcome, position }: Step,
  slot: number,
  { kinds, pool, most }: { readonly kinds: ReadonlyMap<string, Kind>; readonly pool: string; readonly most: number },
): ChildOffer | undefined {
  if (spawns.length === 0 || outcome !== undefined) return undefined
  let count = 0
  const takes = spawns.map((spawn) => {
    const kind = kinds.get(spawn.kind)
    return (
      count < most && spawn.pool === pool && kind?.pool === pool && kind.isHandler && !kind.hasOnCancel && ++count > 0
    )
  })
  if (count === 0) return undefined
  const parent = { ...assignment, run: position.run }
  return { parent, spawns, offer: { slot: `${slot}+`, nonce: newNonce(), takes } }
}

/** The children that the slot got with this answer. Without an answer: those that it may have got (INLINE-4). */
export function childrenOf(
  { parent, spawns, offer }: ChildOffer,
  answer: CommitAnswer | undefined,
  leaseUntil: number,
): readonly Assignment[] {
  if (answer !== undefined && answer.kind !== 'ok') return []
  const isMine = ({ id }: SpawnOrder) => answer === undefined || answer.assigned?.includes(id) === true
  // A release needs no trust in a lease: Redis refuses a node that does not hold the child.
  const { spending = parent.spending, approval = parent.approval, trustedUntil = leaseUntil } = answer ?? {}
  return spawns
    .filter((spawn, index) => offer.takes[index] && isMine(spawn))
    .map((spawn) => childAssignment(parent, spawn, offer.nonce, { spending, approval, trustedUntil }))
}

/** What the children need of their slot. */
export interface ChildRunner {
  /** No child begins later than this. */
  readonly inlineMs: number
  make(assignment: Assignment): Turn
  /** Runs a turn until it is over. A draining turn ends before it receives anything; a cancelled one ends as cancelled. */
  run(turn: Turn): Promise<void>
}

/** Children follow each other for this long before the event loop goes round. */
const pauseAfterMs = 1

export class InlineChildren {
  readonly #assignments: readonly Assignment[]
  readonly #runner: ChildRunner
  readonly #startedAt = performance.now()
  #pausedAt = this.#startedAt
  readonly #turns: Turn[] = []
  readonly #running: Promise<void>[] = []
  #begun = 0

  constructor(assignments: readonly Assignment[], runner: ChildRunner) {
    this.#assignments = assignments
    this.#runner = runner
  }

  /** Runs the children, or releases all of them. When all are over, resolves with the last one. */
  async run({ areToBegin }: { readonly areToBegin: boolean }): Promise<Turn> {
    const late = setTimeout(() => this.#releaseOthers(), this.#runner.inlineMs)
    try {
      if (areToBegin) this.#begin(undefined)
      else this.#releaseOthers()
      // A child that begins is added here before the one before it is over.
      for (let index = 0; index < this.#running.length; index++) await this.#running[index]
    } finally {
      clearTimeout(late)
    }
    return this.#turns.at(-1) as Turn
  }

  isLast(turn: EndingTurn): boolean {
    return turn === this.#turns[this.#assignments.length - 1]
  }

  /** No child was released: the last one ends last. */
  get areAllBegun(): boolean {
    return this.#begun === this.#assignments.length
  }

  /** A child is about to end: the next one begins. A child says this again when its commit was refused. */
  noteEnding(turn: EndingTurn): void {
    const now = performance.now()
    if (now - this.#pausedAt < pauseAfterMs) queueMicrotask(() => this.#begin(turn))
    // The commit of this child is made before the event loop goes round, and leaves with it.
    else queueMicrotask(() => setImmediate(() => this.#begin(turn)))
  }

  /** `after`: the child that ends. If a later child has begun since, there is nothing to do. */
  #begin(after: EndingTurn | undefined): void {
    if (after !== this.#turns.at(-1)) return
    const now = performance.now()
    if (now - this.#pausedAt >= pauseAfterMs) this.#pausedAt = now
    const isLate = now - this.#startedAt >= this.#runner.inlineMs
    if (isLate || this.#turns.some(({ aborted, pausing }) => aborted || pausing.isOn)) this.#releaseOthers()
    const turn = this.#next()
    if (turn === undefined) return
    this.#begun++
    // If the child was abandoned, it never asked for its end.
    this.#running.push(this.#runner.run(turn).finally(() => this.#begin(turn)))
  }

  #releaseOthers(): void {
    for (let turn = this.#next(); turn; turn = this.#next()) {
      turn.drain()
      this.#running.push(this.#runner.run(turn))
    }
  }

  #next(): Turn | undefined {
    const assignment = this.#assignments[this.#turns.length]
    if (assignment === undefined) return undefined
    const turn = this.#runner.make(assignment)
    this.#turns.push(turn)
    return turn
  }
}
