/**
 * Duty: the lane of inputs of a worker in memory, with the field `steered` of its record, kept as the scripts keep them; and what became of each message.
 * LIFE-INBOX-1 A message that was accepted stands in the lane or in the history, once.
 */
import type { Entry } from '../../src/core/history/entry.ts'
import type { CommitRequest } from '../../src/core/ports/ports.ts'
import { decodeMail, encodeInput, type Mail } from '../../src/core/worker/message/message.ts'
import type { Steer, Steering } from '../../src/core/worker/message/steer.ts'
import { blocksOf } from '../../src/runtime/agent/order/user-message.ts'

/** The part of a commit that says what it takes of inputs. */
type Taking = Pick<CommitRequest, 'inputsConsumed' | 'steersTaken' | 'outcome'>

export class LifeInbox {
  readonly faults: string[] = []
  /** Null: a run took it before its turn. */
  readonly #lane: (string | null)[] = []
  #gone = 0
  #steered: readonly Steer[] = []
  readonly #accepted: string[] = []

  get steered(): readonly Steer[] {
    return this.#steered
  }

  get hasMail(): boolean {
    return this.#lane.length > 0
  }

  get mails(): Mail[] {
    return this.#lane.flatMap((text, index) => (text === null ? [] : decodeMail('inbox', this.#gone + index, text)))
  }

  /** `when`: a run in progress takes it. */
  put(from: string | null, valueJson: string, when?: Steering): void {
    this.#lane.push(encodeInput(from, valueJson))
    this.#accepted.push(JSON.stringify(blocksOf(JSON.parse(valueJson))))
    if (when) this.#steered = [...this.#steered, { position: this.#gone + this.#lane.length - 1, when }]
  }

  putOrder(text: string): void {
    this.#lane.push(text)
  }

  at(positions: readonly number[]): Mail[] {
    return this.mails.filter(({ position }) => positions.includes(position))
  }

  take({ inputsConsumed, steersTaken = [], outcome }: Taking): void {
    for (const position of steersTaken) {
      if (typeof this.#lane[position - this.#gone] !== 'string')
        this.faults.push(`input ${position} is taken, and is not there`)
      this.#lane[position - this.#gone] = null
    }
    let left = inputsConsumed
    while (this.#lane.length > 0 && (this.#lane[0] === null || left > 0)) {
      if (this.#lane.shift() !== null) left -= 1
      this.#gone += 1
    }
    if (left > 0) this.faults.push(`${left} inputs were consumed that were not there`)
    this.#steered = outcome ? [] : this.#steered.filter(({ position }) => !steersTaken.includes(position))
  }

  /** A run that ended at rest: what steered it is an input like any other. */
  endRun(): void {
    this.#steered = []
  }

  /** Does something steer the worker that its turn has not seen? */
  hasUnseen(seen: number): boolean {
    return this.#steered.some(({ position }) => position >= seen)
  }

  /** LIFE-INBOX-1 */
  lost(entries: readonly Entry[]): string[] {
    const own = new Set(this.#accepted)
    // The runtime says something to the model in the same form.
    const said = entries
      .flatMap((entry) => (entry.type === 'user' && entry.run > 0 ? JSON.stringify(entry.content) : []))
      .filter((content) => own.has(content))
    const waiting = this.mails.flatMap(({ message, order }) =>
      message.kind === 'input' && order === undefined ? JSON.stringify(blocksOf(message.value)) : [],
    )
    const found = [...said, ...waiting].sort()
    const accepted = [...this.#accepted].sort()
    return JSON.stringify(found) === JSON.stringify(accepted)
      ? []
      : [`accepted were ${accepted.join()}, and ${found.join()} are in the history or wait`]
  }
}
