/**
 * Duty: hand out the mail of an agent's turn. Between runs the first input starts the next run. While a run is open, the results of its
 * children are taken in the order in which they came; further input waits for the end of the run, first in, first out.
 */
import type { Mail, ResultMessage } from '../../core/worker/message.ts'
import type { Journal } from './journal.ts'

export interface FamilyMail {
  readonly sequence: number
  readonly result: ResultMessage
}

export class AgentInbox {
  readonly #journal: Journal
  readonly #user: Mail[]
  #family: Mail[]
  /** How many results this worker has ever taken, including those of this turn. */
  #familyTaken: number

  constructor(journal: Journal) {
    const { mail, familyTaken } = journal.turn.grant
    this.#journal = journal
    this.#user = [...mail.user]
    this.#family = [...mail.family]
    this.#familyTaken = familyTaken
  }

  nextInput(): Mail | null {
    return this.#user[0] ?? null
  }

  take(mail: Mail): void {
    this.#user.splice(this.#user.indexOf(mail), 1)
  }

  get familyTaken(): number {
    return this.#familyTaken
  }

  /** Takes all results that have arrived. */
  takeResults(): readonly FamilyMail[] {
    const taken = this.#family
    this.#family = []
    this.#familyTaken += taken.length
    const results: FamilyMail[] = []
    for (const { sequence, message } of taken) {
      if (message.kind === 'result') results.push({ sequence, result: message })
      else this.#journal.noteIgnored(`a message of kind ${message.kind} among the results`)
    }
    return results
  }
}
