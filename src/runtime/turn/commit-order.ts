/**
 * Duty: have a turn send one commit at a time (TURN-1), and its last one after all others (TURN-2).
 * Does not own: what a commit holds, and what follows from its answer (turn.ts).
 */
import type { TurnOver } from './turn-state.ts'

/** The part of a turn that this needs. */
interface CommittingTurn {
  readonly over: TurnOver | undefined
  giveUp(error: unknown): void
}

export class CommitOrder {
  readonly #turn: CommittingTurn
  readonly #commitDue: () => Promise<void> | undefined
  /** Resolves when the commit that is on its way was answered, and all that follows from the answer is done. */
  #inFlight: Promise<void> | undefined
  #isAsked = false

  /** `commitDue` commits the steps that are due; it returns undefined if none is. */
  constructor(turn: CommittingTurn, commitDue: () => Promise<void> | undefined) {
    this.#turn = turn
    this.#commitDue = commitDue
  }

  get inFlight(): Promise<void> {
    return this.#inFlight ?? Promise.resolve()
  }

  /** Commits the steps that are due, one microtask later: so a step and the end that follows it directly become one commit (TURN-3). */
  sendDue(): void {
    if (this.#isAsked || this.#inFlight) return
    this.#isAsked = true
    queueMicrotask(() => {
      this.#isAsked = false
      this.#send()
    })
  }

  #send(): void {
    if (this.#inFlight) return
    const committing = this.#commitDue()?.then(
      () => {
        if (this.#inFlight === committing) this.#inFlight = undefined
        this.#send()
      },
      (error: unknown) => this.#turn.giveUp(error),
    )
    this.#inFlight = committing
  }

  /** Sends commits that end the turn: after the commit that is on its way, and after an end that came before, if the turn is not over then. */
  sendLast(commit: () => Promise<void>): Promise<void> {
    const committing = this.inFlight
      .then(() => (this.#turn.over ? undefined : commit()))
      .catch((error: unknown) => this.#turn.giveUp(error))
    this.#inFlight = committing
    return committing
  }
}
