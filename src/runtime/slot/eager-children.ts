/**
 * Duty: the children that a slot goes on with when it ends the turn that spawned them, instead of claiming from its line (decision 0023).
 * G1 One after another: each begins when the one before has asked for its end, whose commit may still be on its way. So a slot runs one
 *    handler at a time, and the ends of all go in few scripts.
 * G2 None waits for a long one: those that have not begun by then are given back, and stand in line for other slots. Between two that
 *    have taken a while, the event loop goes round.
 * G3 None begins once another was told to stop: it is given back as well, and the claim that follows knows of a cancel (I12).
 */
import { performance } from 'node:perf_hooks'
import type { Grant, SlotOffer, SpawnOrder } from '../../core/ports/ports.ts'
import type { Kind } from '../node/kind.ts'
import type { Turn } from '../turn/turn.ts'
import type { EndingTurn } from '../turn/turn-host.ts'
import { newNonce } from './nonce.ts'

/** What they need of their slot. */
export interface ChildRunner {
  /** None begins later than this. */
  readonly longMs: number
  /** Called when the last of them is about to end: the slots that wait for it go on. */
  readonly passOn?: (() => void) | undefined
  make(grant: Grant): Turn
  /** Runs it until it is over. One that drains ends before it receives anything, as cancelled if it was. */
  run(turn: Turn): Promise<void>
}

/** So long may one after another begin before the event loop goes round. */
const pauseAfterMs = 1

export class EagerChildren {
  readonly #grants: readonly Grant[]
  readonly #runner: ChildRunner
  readonly #startedAt = performance.now()
  #pausedAt = this.#startedAt
  readonly #turns: Turn[] = []
  readonly #over: Promise<void>[] = []
  #begun = 0

  constructor(grants: readonly Grant[], runner: ChildRunner) {
    this.#grants = grants
    this.#runner = runner
  }

  /** Runs them, or gives all of them back. Resolves with the last one when all are over. */
  async run({ areToBegin }: { readonly areToBegin: boolean }): Promise<Turn> {
    const late = setTimeout(() => this.#giveBackOthers(), this.#runner.longMs)
    try {
      if (areToBegin) this.#begin(undefined)
      else this.#giveBackOthers()
      // Each that begins adds itself while the one before is not over.
      for (let index = 0; index < this.#over.length; index++) await this.#over[index]
    } finally {
      clearTimeout(late)
    }
    return this.#turns.at(-1) as Turn
  }

  /** Has one of them moved the bell of its slot to the busy ones? */
  get isAnyBusy(): boolean {
    return this.#turns.some((turn) => turn.bellIsBusy)
  }

  isLast(turn: EndingTurn): boolean {
    return turn === this.#turns[this.#grants.length - 1]
  }

  /** None was given back: the last of them ends last. */
  get areAllBegun(): boolean {
    return this.#begun === this.#grants.length
  }

  /** A turn is about to end: the next begins. It may say so again, when its commit was refused. */
  noteEnding(turn: EndingTurn): void {
    const now = performance.now()
    if (now - this.#pausedAt < pauseAfterMs) queueMicrotask(() => this.#begin(turn))
    // Behind its commit, which is about to be made, and leaves as the event loop goes round.
    else queueMicrotask(() => setImmediate(() => this.#begin(turn)))
  }

  /** `after`: whose end this is; of any but the newest it is known already. */
  #begin(after: EndingTurn | undefined): void {
    if (after !== this.#turns.at(-1)) return
    const now = performance.now()
    if (now - this.#pausedAt >= pauseAfterMs) this.#pausedAt = now
    const isLate = now - this.#startedAt >= this.#runner.longMs
    if (isLate || this.#turns.some(({ aborted }) => aborted)) this.#giveBackOthers()
    const turn = this.#next()
    if (turn === undefined) {
      this.#runner.passOn?.()
      return
    }
    this.#begun++
    // Abandoned, it never asked for its end.
    this.#over.push(this.#runner.run(turn).finally(() => this.#begin(turn)))
  }

  #giveBackOthers(): void {
    for (let turn = this.#next(); turn; turn = this.#next()) {
      turn.draining = true
      this.#over.push(this.#runner.run(turn))
    }
  }

  #next(): Turn | undefined {
    const grant = this.#grants[this.#turns.length]
    if (grant === undefined) return undefined
    const turn = this.#runner.make(grant)
    this.#turns.push(turn)
    return turn
  }
}

/** To the first children that the slot may go on with: handlers of its own pool, as many as it may be expected to take in a row. */
export function offerFor(
  spawns: readonly SpawnOrder[],
  slot: number,
  { kinds, pool, share }: { readonly kinds: ReadonlyMap<string, Kind>; readonly pool: string; readonly share: number },
): SlotOffer | undefined {
  let count = 0
  const takes = spawns.map((spawn) => {
    const kind = kinds.get(spawn.kind)
    return count < share && spawn.pool === pool && kind?.pool === pool && kind.isHandler && ++count > 0
  })
  return count === 0 ? undefined : { slot: `${slot}+`, nonce: newNonce(), takes }
}
