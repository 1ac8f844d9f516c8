/**
 * Duty: the mail of an agent's turn. Between runs the head of the user lane starts the next run; while a run is open, results of its
 * children are taken as they came. Other input waits for the end of the run, first in, first out.
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
  /** Mails of the family lane that were consumed for ever, this turn's included. */
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

  /** All results that are there. */
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
