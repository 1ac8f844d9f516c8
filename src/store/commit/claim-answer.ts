/** Duty: what a claim answers, alone or at the end of a commit. */
import { InvariantError } from '../../core/errors.ts'
import type { ClaimAnswer } from '../../core/ports/ports.ts'
import { decodeAssignment } from '../record/assignment.ts'
import type { Reply } from '../script/script.ts'

export function decodeClaim(reply: Reply | null, trustedUntil: number): ClaimAnswer {
  if (reply === null) return { kind: 'none' }
  const tag = reply[0]
  if (tag === 'empty' || tag === 'unfit') return { kind: tag }
  if (tag !== 'assigned') throw new InvariantError(`claim answered ${JSON.stringify(tag)}`)
  return { kind: 'assigned', assignment: decodeAssignment(reply, trustedUntil) }
}
