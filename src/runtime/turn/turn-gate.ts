/**
 * Duty: whether the run of a turn may begin, where its kind has gates (gates.ts): asks the store, and ends the turn where the run must wait.
 */
import { type RuntimeError, TerminalError } from '../../core/errors.ts'
import type { Assignment } from '../../core/ports/ports.ts'
import type { GateOrder } from '../../core/worker/gates.ts'
import type { TurnHost } from './turn-host.ts'

/** What the gate needs of its turn. */
interface GatedTurn {
  readonly assignment: Assignment
  readonly host: TurnHost
  abandon(why: 'waits' | 'fenced'): void
  cancel(): Promise<void>
}

export class TurnGate {
  readonly #turn: GatedTurn
  #isThere = false
  #isAsked = false
  #problem: RuntimeError | undefined

  constructor(turn: GatedTurn) {
    this.#turn = turn
  }

  /** No second run begins in this turn (GATED-1). */
  get isThere(): boolean {
    return this.#isThere
  }

  /** A run may begin with the next input. False behind an order: which input comes next was not known when the gate was asked (GATED-3). */
  get isAsked(): boolean {
    return this.#isAsked || !this.#isThere
  }

  /** Why the run fails as it begins; undefined: it does not. */
  get problem(): RuntimeError | undefined {
    return this.#problem
  }

  /** `isAsked`: the next message is the one that it is asked about. */
  stand(isAsked: boolean): void {
    this.#isThere = true
    this.#isAsked = isAsked
  }

  fail(problem: RuntimeError): void {
    this.#problem = problem
  }

  /** Before the first step. If the run must wait, the turn is over then. */
  async enter(gates: readonly GateOrder[]): Promise<void> {
    const turn = this.#turn
    const { workerId, name, kind } = turn.assignment
    const answer = await turn.host.store.enter(turn.assignment, gates)
    switch (answer.kind) {
      case 'in':
        return
      case 'waits':
        if (answer.opensInMs !== null) turn.host.noteTimer(answer.opensInMs)
        return turn.abandon('waits')
      case 'fenced':
        return turn.abandon('fenced')
      case 'cancelled':
        return turn.cancel()
      case 'never': {
        const what = `the run of worker ${name} (${workerId}) would wait for ever: each run of kind "${kind}" that is in progress waits for it`
        const advice = 'Raise concurrency.most of the kind, give this run another key, or let another kind do its work'
        this.fail(new TerminalError(`${what}. ${advice}.`))
      }
    }
  }
}
