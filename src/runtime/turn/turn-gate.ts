/**
 * Duty: decide whether the run of a turn may begin, if its kind has gates (gates.ts): it asks the store, and ends the turn if the run must wait.
 */
import { type RuntimeError, TerminalError } from '../../core/errors.ts'
import type { Assignment } from '../../core/ports/ports.ts'
import type { GateOrder } from '../../core/worker/gates.ts'
import type { TurnHost } from './turn-host.ts'

/** The part of a turn that the gate needs. */
interface GatedTurn {
  readonly assignment: Assignment
  readonly host: TurnHost
  abandon(why: 'waits' | 'fenced'): void
  cancel(): Promise<void>
}

export class TurnGate {
  readonly #turn: GatedTurn
  #hasGates = false
  #isAsked = false
  #problem: RuntimeError | undefined

  constructor(turn: GatedTurn) {
    this.#turn = turn
  }

  /** True if the kind has gates: no second run begins in this turn (GATED-1). */
  get hasGates(): boolean {
    return this.#hasGates
  }

  /** True if a run may begin with the next input. False after an order: when the gate was asked, nobody knew which input would come next (GATED-3). */
  get mayBegin(): boolean {
    return this.#isAsked || !this.#hasGates
  }

  /** Why the run fails as it begins; undefined if it does not. */
  get problem(): RuntimeError | undefined {
    return this.#problem
  }

  /** Notes that the kind has gates. `isAsked`: the gate is asked about the next message. */
  noteGates({ isAsked }: { readonly isAsked: boolean }): void {
    this.#hasGates = true
    this.#isAsked = isAsked
  }

  fail(problem: RuntimeError): void {
    this.#problem = problem
  }

  /** Asks for the gates, before the first step. If the run must wait, this ends the turn. */
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
