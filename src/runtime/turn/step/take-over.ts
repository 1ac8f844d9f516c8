/**
 * Duty: note in the first entry of a turn that the turn took its worker over: an earlier turn recorded nothing, because its node died or lost its
 * lease. So a history shows attempts and take-overs in their order.
 */
import { withTakenOver } from '../../../core/history/entry.ts'
import type { Assignment } from '../../../core/ports/ports.ts'
import type { Step } from './step.ts'

export class TakeOver {
  readonly #assignment: Assignment
  readonly #nodeId: string
  #isNoted = false

  constructor(assignment: Assignment, nodeId: string) {
    this.#assignment = assignment
    this.#nodeId = nodeId
  }

  /** The step, with the note if no step of the turn has it yet. */
  noted(step: Step): Step {
    const [first, ...others] = step.entries
    if (this.#isNoted || first === undefined) return step
    this.#isNoted = true
    const { starts: start, lastWords } = this.#assignment
    const takenOver = { start, node: this.#nodeId, ...(lastWords !== null && { lastWords }) }
    return { ...step, entries: [withTakenOver(first, takenOver), ...others] }
  }
}
