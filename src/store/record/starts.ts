/** Duty: how often a worker was claimed, as its record says: all in all (its epoch), and since its last commit. */
import type { RecordFields } from '../script/replies.ts'

/** Of a token or the id of a commit. */
function epochIn(text: string | undefined): number {
  return Number(text?.split(':')[0] || 0)
}

export function epochOf(fields: RecordFields): number {
  return Math.max(epochIn(fields.token), epochIn(fields.commit))
}

export function startsOf(fields: RecordFields): number {
  return epochOf(fields) - epochIn(fields.commit)
}
