/** Duty: make the answer to an ask that approves or denies a call: its form, what it says of the call, and whom it trusts. */
import { InputError } from '../../core/errors.ts'
import {
  type ApprovalDecision,
  type ApprovalDetails,
  bindDecision,
  readApprovalDetails,
  readDecision,
} from '../../core/worker/ask/approval-ask.ts'
import type { AskSort } from '../../core/worker/ask/ask.ts'

/** The part of an ask that matters here. */
interface AskedCall {
  readonly id: string
  readonly kind: AskSort
  readonly workerId: string
  readonly details: unknown
}

/** What an ask shows of its call. Null if it asks for no approval, or if another program wrote over it. */
export function detailsOf({ kind, details }: Pick<AskedCall, 'kind' | 'details'>): ApprovalDetails | null {
  return kind === 'approval' ? readApprovalDetails(details) : null
}

/** The answer as the worker receives it: for an approval, with the hash of what was approved (APPROVAL-ASK-1). */
export function boundAnswer(ask: AskedCall, value: unknown): unknown {
  const details = detailsOf(ask)
  return details === null ? value : bindDecision(value as ApprovalDecision, details, ask.workerId)
}

/** The decision, for the event of the answer. */
export function decisionIn({ kind }: AskedCall, value: unknown): Partial<Pick<ApprovalDecision, 'decision'>> {
  const decision = kind === 'approval' ? readDecision(value) : null
  return decision === null ? {} : { decision: decision.decision }
}

/** The tool that the answer trusts; null for none. Throws an InputError if trust in it would change nothing. */
export function trustedTool(ask: AskedCall, value: unknown): string | null {
  const details = detailsOf(ask)
  const decision = readDecision(value)
  if (details === null || decision?.trust === undefined) return null
  if (decision.decision === 'deny')
    throw new InputError(`ask ${ask.id}: only an approval may trust the tool: leave out trust, or approve.`)
  if (details.eachTime)
    throw new InputError(
      `ask ${ask.id}: trust in tool "${details.tool}" would change nothing, because ${details.why}: approve this call without trust.`,
    )
  return details.tool
}
