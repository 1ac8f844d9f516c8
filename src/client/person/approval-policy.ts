/** Duty: change what a session says of approvals while it lives. */
import { preview } from '../../core/check/preview.ts'
import { InputError } from '../../core/errors.ts'
import { encodeEvents } from '../../core/event/event-notes.ts'
import { type ApprovalPolicy, approvalPolicies, type SessionApproval } from '../../core/worker/ask/session-approval.ts'
import { sessionNotFound } from '../../core/worker/refusal.ts'
import type { Submission } from '../submission/submission.ts'

/** Sets the policy of a session; trust that was given before is taken back. */
export async function setPolicy(
  submission: Submission,
  sessionId: string,
  policy: ApprovalPolicy,
): Promise<SessionApproval> {
  if (!approvalPolicies.includes(policy))
    throw new InputError(
      `the policy of setApproval must be one of ${approvalPolicies.join(', ')}, not ${preview(policy)}.`,
    )
  const event = encodeEvents([['session.approvalChanged', { policy, ...submission.by }]])
  const answer = await submission.store(sessionId, 'session').setApproval(sessionId, { policy }, event)
  if (answer.kind === 'not_found') throw sessionNotFound(sessionId)
  return answer.approval
}
