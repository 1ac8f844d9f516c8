/**
 * Duty: hand out the mail of an agent's turn. Between runs the first input starts the next run. While a run is open, answers to its asks and
 * results of its children are taken in the order in which they came; further input waits for the end of the run, first in, first out.
 */
import type { Mail, ResultMessage } from '../../core/worker/message/message.ts'
import type { Journal } from './journal.ts'

export interface ResultMail {
  readonly position: number
  readonly result: ResultMessage
}

export class AgentInbox {
  readonly #journal: Journal
  readonly #inbox: Mail[]
  #signals: readonly Mail[]
  #results: Mail[]
  /** How many results this worker has ever taken, including those of this turn. */
  #resultsTaken: number

  constructor(journal: Journal) {
    const { mail, resultsTaken } = journal.turn.assignment
    this.#journal = journal
    this.#inbox = [...mail.inbox]
    this.#signals = mail.signals
    this.#results = [...mail.results]
    this.#resultsTaken = resultsTaken
  }

  get inputs(): readonly Mail[] {
    return this.#inbox
  }

  nextInput(): Mail | null {
    return this.#inbox[0] ?? null
  }

  /** Also of an input that steers the run and came after the turn began. */
  take(mail: Mail): void {
    const at = this.#inbox.findIndex(({ position }) => position === mail.position)
    if (at >= 0) this.#inbox.splice(at, 1)
  }

  get resultsTaken(): number {
    return this.#resultsTaken
  }

  /** Takes all signals that have arrived. */
  takeSignals(): readonly Mail[] {
    const taken = this.#signals
    this.#signals = []
    return taken
  }

  /** Takes all results that have arrived. */
  takeResults(): readonly ResultMail[] {
    const taken = this.#results
    this.#results = []
    this.#resultsTaken += taken.length
    const results: ResultMail[] = []
    for (const { position, message } of taken) {
      if (message.kind === 'result') results.push({ position, result: message })
      else this.#journal.noteIgnored(`a message of kind ${message.kind} among the results`)
    }
    return results
  }
}
