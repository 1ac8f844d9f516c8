/** Duty: the sentences that a model reads about calls that a person denied, changed or did not decide about. */

import type { ToolOutput } from '../../../../core/history/chat/chat-message.ts'
import { outputTextOf } from '../../../../core/history/chat/media.ts'
import type { CallApproval } from '../../../../core/history/run/call-approvals.ts'
import type { ApprovalStatus } from '../../../../core/worker/ask/approval-status.ts'
import { brief } from '../../../tool/messages.ts'
import { toOutput } from '../../../tool/output.ts'

/** The call that would run is not the one that was approved. A sentence for the person who is asked again. */
export const changedText =
  'The call is not the one that was approved: its arguments, or the schema of its tool, have changed since. It was not run.'

export const neededText =
  'This call needs the approval of a person, and nobody is there to give it. It was not run. Go on without it.'

/** `why`: the rule or the policy that forbids it. */
export function forbiddenText(toolName: string, why: string): string {
  return `Error: this call of '${brief(toolName)}' is forbidden: ${brief(why)}. It was not run. Do not make it again with these arguments.`
}

export function deniedText({ expired, by, reason }: CallApproval): string {
  if (expired !== undefined) return 'Nobody approved this call in time. It was not run. Go on without it.'
  const denied = `${by ?? 'A person'} denied this call. It was not run.`
  return reason == null || reason === ''
    ? `${denied} No reason was given: ask what to do instead, or go on without it.`
    : `${denied} Reason: ${reason}`
}

/** Another call of the same reply was denied. */
export function siblingText(status: ApprovalStatus): string {
  const other = 'another call of the same reply was denied'
  return status === 'approved'
    ? `This call was approved, but it was not run, because ${other}.`
    : `This call was not run, because ${other}.`
}

/** The output of a call that ran. If a person had changed its arguments, the output says so. */
export function editedOutput(approval: CallApproval | undefined, output: ToolOutput, bytesMax?: number): ToolOutput {
  if (approval?.arguments === undefined) return output
  const { value } = toOutput(approval.arguments, bytesMax)
  const args = typeof value === 'string' ? value : JSON.stringify(value)
  const note = `${approval.by ?? 'A person'} changed the arguments of this call before it ran. It ran with: ${args}`
  if (output.type === 'content') return { ...output, value: [{ type: 'text', text: note }, ...output.value] }
  return { type: output.type === 'error-text' ? 'error-text' : 'text', value: `${note}\n${outputTextOf(output)}` }
}
