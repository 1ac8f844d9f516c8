/**
 * Duty: note in the first entry that a turn records that the turn took its worker over: an earlier turn recorded nothing, because its node died or
 * lost its lease. So a history shows attempts and take-overs in their order.
 */
import { withTakenOver } from '../../../core/history/entry.ts'
import type { Assignment } from '../../../core/ports/ports.ts'
import type { Step } from './step.ts'

/** The step with the note in its first entry. A turn calls it until an entry is recorded: a step that is refused leaves no note. */
export function withTakeOver(step: Step, { starts: start, lastWords }: Assignment, nodeId: string): Step {
  const [first, ...others] = step.entries
  if (first === undefined) return step
  const takenOver = { start, node: nodeId, ...(lastWords !== null && { lastWords }) }
  return { ...step, entries: [withTakenOver(first, takenOver), ...others] }
}
