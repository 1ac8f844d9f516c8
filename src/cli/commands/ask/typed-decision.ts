/** Duty: what a person types at a terminal to decide about a tool call. */
import type { Troupe } from '../../../client/client.ts'
import type { Approval, Decide } from '../../../client/person/approvals.ts'
import { editArguments } from '../../terminal/edit-arguments.ts'

export const decisionHelp = [
  'y       the call runs',
  'n       it does not; what you write behind n is the reason that the model reads',
  't       it runs, and this tool is not asked about again in this session',
  'e       change the arguments in $EDITOR, then it runs',
]

/** `edit`: the arguments are changed first. */
export type TypedDecision = Decide | 'edit'

/** Null: the text is none of the words. */
export function decisionOf(text: string): TypedDecision | null {
  if (/^(?:y|yes)$/i.test(text)) return { decision: 'approve' }
  if (/^t$/i.test(text)) return { decision: 'approve', trust: 'tool' }
  if (/^e$/i.test(text)) return 'edit'
  const denied = /^(?:n|no)(?:\s+(.*))?$/is.exec(text)
  if (denied === null) return null
  const [, reason] = denied
  return reason === undefined ? { decision: 'deny' } : { decision: 'deny', reason }
}

export async function decide({ approvals }: Troupe, approval: Approval, decision: TypedDecision): Promise<void> {
  const decided: Decide =
    decision === 'edit' ? { decision: 'approve', arguments: await editArguments(approval) } : decision
  await approvals.decide(approval.id, decided)
}
