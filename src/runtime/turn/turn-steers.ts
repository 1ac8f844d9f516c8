/**
 * Duty: keep what a turn knows of the inputs that steer its run: those that wait, those that it has read, those that it has taken; and the signal of
 * what the run does now.
 * Owns no transition: the behaviour takes them (agent/order/steered.ts, handler/handler.ts). Most turns have no such input, so nothing is made before
 * the first one.
 * TURN-STEERS-1 An input that was taken, began its run, or belonged to a run that has ended, does not come again, however late an answer of the store
 * arrives.
 * TURN-STEERS-2 An input that does not fit the kind steers and interrupts nothing: it stays in the mailbox and begins a run, which then says what is wrong
 * with it.
 * TURN-STEERS-3 An input that waits goes when it is taken or its run ends. It does not go because an answer does not name it: that answer may be
 * older than the last one.
 * TURN-STEERS-4 The commit that ends a turn calls an input seen only if the behaviour has read it, or taken it.
 */
import { CancelledError } from '../../core/errors.ts'
import type { Assignment } from '../../core/ports/ports.ts'
import type { Mail } from '../../core/worker/message/message.ts'
import type { Steer } from '../../core/worker/message/steer.ts'
import { LazySignal } from './lazy-signal.ts'
import type { StepQueue } from './step/step-queue.ts'
import type { TurnHost } from './turn-host.ts'

/** Does this input fit the kind? */
export type FitsKind = (mail: Mail) => boolean

interface SteeredTurn {
  readonly assignment: Pick<Assignment, 'workerId' | 'steered'>
  readonly host: Pick<TurnHost, 'store'>
  whenAborted(listener: (reason: Error) => void): () => void
}

const none: readonly Steer[] = []

export class TurnSteers {
  readonly #turn: SteeredTurn
  readonly #steps: Pick<StepQueue, 'recorded' | 'latest'>
  #waiting = none
  /** The inputs that were read or taken, by position. Null: the input steers nothing, or nothing any more. */
  #read: Map<number, Mail | null> | undefined
  /** The position of the last input that the run began with. */
  #begunWith = -1
  /** The position behind the last input that was named. */
  #known: number | undefined
  #work: LazySignal | undefined
  /** The signal that fired last because of a message. */
  #interrupted: LazySignal | undefined
  #interruptions = 0
  #fits: FitsKind | undefined

  constructor(turn: SteeredTurn, steps: Pick<StepQueue, 'recorded' | 'latest'>) {
    this.#turn = turn
    this.#steps = steps
    const { steered = none } = turn.assignment
    if (steered.length > 0) this.#add(steered)
  }

  /**
   * TURN-STEERS-4: the position of the first input that the run has not looked at. Undefined: the store has named none. It may name an input when the
   * behaviour has already ended the turn: nobody reads that one any more, so the worker must not rest.
   */
  get unseenFrom(): number | undefined {
    return this.#waiting.find(({ position }) => !this.#read?.has(position))?.position ?? this.#known
  }

  /** The run that the record shows. What the store answers to a call that is made now is about this run, or about a later one. */
  get recordedRun(): number {
    return this.#steps.recorded.run
  }

  /** True if an input waits, as far as the turn knows. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** True if an input that waits interrupts what the run does. */
  get interrupts(): boolean {
    return this.#waiting.some(({ when }) => when === 'interrupt')
  }

  /**
   * The signal of what the run does now: it fires when the signal of the turn does, and when a message interrupts the run. What begins after an
   * interruption has another signal.
   */
  get work(): LazySignal {
    if (this.#work === undefined) {
      const work = new LazySignal()
      this.#work = work
      this.#turn.whenAborted((reason) => work.abort(reason))
    }
    return this.#work
  }

  /** How often a message has interrupted what the run did in this turn. */
  get interruptions(): number {
    return this.#interruptions
  }

  /** The signal of what began after this number of interruptions. Called late, it may return a signal that has fired. */
  workSince(interruptions: number): LazySignal {
    return interruptions === this.#interruptions ? this.work : (this.#interrupted ?? this.work)
  }

  /** The behaviour says which inputs fit its kind. Without this, any input interrupts. */
  judgeBy(fits: FitsKind): void {
    this.#fits = fits
  }

  /** Notes what steers this run, as the store says. The store may have said so a while ago, before the last step was recorded. */
  note(steers: readonly Steer[], run: number): void {
    if (run < this.#steps.latest.run) return
    const interrupting = this.#add(steers).filter(({ when }) => when === 'interrupt')
    if (interrupting.length === 0) return
    if (this.#fits === undefined) this.#interrupt()
    else void this.#interruptIfFits(interrupting, this.#fits)
  }

  /** Looks at these inputs before they interrupt anything. They do not count as read by the behaviour (TURN-STEERS-4). */
  async #interruptIfFits(steers: readonly Steer[], fits: FitsKind): Promise<void> {
    const positions = steers.map(({ position }) => position)
    const fitting = await this.#turn.host.store
      .readInputs(this.#turn.assignment.workerId, positions)
      .then((mails) => mails.filter(fits).map(({ position }) => position))
      // One that cannot be looked at now may fit.
      .catch(() => positions)
    if (this.#waiting.some(({ position }) => fitting.includes(position))) this.#interrupt()
  }

  #interrupt(): void {
    const work = this.#work ?? new LazySignal()
    this.#work = undefined
    this.#interrupted = work
    this.#interruptions++
    work.abort(new CancelledError(`a message interrupted what worker ${this.#turn.assignment.workerId} did.`))
  }

  /** TURN-STEERS-2: looks at the inputs that wait, before what is to begin is kept from it. One that cannot be looked at now may fit. */
  async judge(): Promise<void> {
    if (this.interrupts && this.#fits !== undefined) await this.read(this.#fits).catch(() => none)
  }

  /** The inputs that wait and fit the kind, in order. The other inputs wait no longer. */
  async read(fits: FitsKind): Promise<readonly Mail[]> {
    const { assignment, host } = this.#turn
    this.#read ??= new Map()
    const read = this.#read
    const unread = this.#waiting.filter(({ position }) => !read.has(position))
    if (unread.length > 0) {
      const positions = unread.map(({ position }) => position)
      const found = await host.store.readInputs(assignment.workerId, positions)
      for (const { position, when } of unread) {
        const mail = found.find((one) => one.position === position)
        read.set(position, mail && fits(mail) ? steering(mail, when) : null)
      }
      this.#waiting = this.#waiting.filter((steer) => this.#isOpen(steer))
    }
    return this.#waiting.flatMap(({ position }) => read.get(position) ?? [])
  }

  /** Notes that a run begins with the inputs up to this one. If an order came before them, some may have been meant to steer. */
  begin({ position }: Mail): void {
    this.#begunWith = position
    this.#waiting = this.#waiting.filter((steer) => this.#isOpen(steer))
  }

  /** Notes that a step takes this input. */
  take({ position }: Mail): void {
    this.#read?.set(position, null)
    this.#waiting = this.#waiting.filter((steer) => steer.position !== position)
  }

  /** Notes that the run has ended: inputs that are left begin runs like any other input. */
  endRun(): void {
    if (this.#known === undefined) return
    this.#waiting = none
    this.#read = undefined
  }

  /** Returns the inputs that are new. The store names them in order, so they stand behind those that wait already. */
  #add(steers: readonly Steer[]): readonly Steer[] {
    const waiting = new Set(this.#waiting.map(({ position }) => position))
    const added = steers.filter((steer) => !waiting.has(steer.position) && this.#isOpen(steer))
    this.#waiting = [...this.#waiting, ...added]
    this.#known = Math.max(this.#known ?? 0, ...steers.map(({ position }) => position + 1))
    return added
  }

  #isOpen({ position }: Steer): boolean {
    return position > this.#begunWith && this.#read?.get(position) !== null
  }
}

function steering(mail: Mail, when: Steer['when']): Mail {
  if (mail.message.kind !== 'input') return mail
  return { ...mail, message: { ...mail.message, when } }
}
