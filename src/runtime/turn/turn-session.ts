/** Duty: keep what the record of the root says of the whole session, by the last answer that the store gave this turn. */
import type { Assignment } from '../../core/ports/ports.ts'

/** What claims and commits answer about the session. */
type SaidOfSession = Pick<Assignment, 'spending' | 'approval'>

export class TurnSession {
  #said: SaidOfSession

  constructor({ spending, approval }: SaidOfSession) {
    this.#said = { spending, approval }
  }

  /** What the agents of the session have used and may use. */
  get spending(): Assignment['spending'] {
    return this.#said.spending
  }

  /** The policy of the session for approvals, and the tools that somebody trusts. */
  get approval(): Assignment['approval'] {
    return this.#said.approval
  }

  /** Takes what a commit has answered. */
  learn({ spending, approval }: SaidOfSession): void {
    this.#said = { spending, approval }
  }
}
