/** Duty: check what a new session says of approvals, and write it as its record has it. */
import { oneOfRule, type Rule, wholeNumberRule } from '../../core/check/check-options.ts'
import { InputError } from '../../core/errors.ts'
import { policy as limits } from '../../core/policy.ts'
import {
  type ApprovalPolicy,
  approvalPolicies,
  defaultApproval,
  encodeApproval,
  nobodyAnswersWords,
  type SessionApproval,
  type WhenNobodyAnswers,
} from '../../core/worker/ask/session-approval.ts'

/** What `sessions.create` takes about approvals. */
export interface ApprovalOptions {
  /**
   * `manual`: tools and rules of kinds say which calls a person is asked about. `auto`: all calls run but those that a rule denies, and those of
   * dangerous tools. `readOnly`: calls of tools that are not `pure` are denied. Default: manual.
   */
  readonly approval?: ApprovalPolicy | undefined
  /** What happens to a call that nobody approves. wait: for ever. deny: it is denied. fail: the run fails with `approval_needed`. Default: wait. */
  readonly whenNobodyAnswers?: WhenNobodyAnswers | undefined
  /** With deny and fail: how long it waits for an answer. Default: nobody is asked. */
  readonly approvalMs?: number | undefined
}

export const approvalOptionRules: { readonly [Name in keyof Required<ApprovalOptions>]: Rule } = {
  approval: oneOfRule(approvalPolicies),
  whenNobodyAnswers: oneOfRule(nobodyAnswersWords),
  approvalMs: wholeNumberRule(1, limits.timeoutMsMax),
}

/** The text for the record of the root; undefined: the default. The options have been checked by their rules. */
export function approvalText({ approval, whenNobodyAnswers, approvalMs }: ApprovalOptions): string | undefined {
  const policy = approval ?? defaultApproval.policy
  const nobody = whenNobodyAnswers ?? defaultApproval.whenNobodyAnswers
  if (approvalMs !== undefined && nobody === 'wait')
    throw new InputError(
      `approvalMs of sessions.create needs whenNobodyAnswers: 'deny' or 'fail'; with 'wait' an approval never expires.`,
    )
  const text = encodeApproval({ policy, whenNobodyAnswers: nobody, approvalMs: approvalMs ?? null, trusted: [] })
  return text === encodeApproval(defaultApproval) ? undefined : text
}

/** What a session says of approvals, for a new one that goes on with its work. Trust in tools was given to that session alone. */
export function approvalOptionsOf({ policy, whenNobodyAnswers, approvalMs }: SessionApproval): ApprovalOptions {
  return { approval: policy, whenNobodyAnswers, approvalMs: approvalMs ?? undefined }
}
