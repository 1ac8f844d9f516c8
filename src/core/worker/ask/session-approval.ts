/**
 * Duty: define what a session says of approvals: its policy, the tools that a person trusts, what happens if nobody answers.
 * Owns: the form of these in the record of the root. Does not own: what they mean for one call (approval.ts).
 * SESSION-APPROVAL-1 A session that says nothing has `defaultApproval`, and its record has no field for it.
 */
export const approvalPolicies = ['manual', 'auto', 'readOnly'] as const
/**
 * manual: as tools and rules say. auto: all calls run but those that a rule denies, and those of dangerous tools. readOnly: calls of pure tools
 * are decided as with manual; all others are denied.
 */
export type ApprovalPolicy = (typeof approvalPolicies)[number]

export const nobodyAnswersWords = ['wait', 'deny', 'fail'] as const
/** wait: for ever. deny: the call is denied. fail: the run fails with `approval_needed`. */
export type WhenNobodyAnswers = (typeof nobodyAnswersWords)[number]

export interface SessionApproval {
  readonly policy: ApprovalPolicy
  /** Names of tools that nobody is asked about any more. */
  readonly trusted: readonly string[]
  readonly whenNobodyAnswers: WhenNobodyAnswers
  /** How long a person is waited for. Null: for ever with `wait`, else nobody is asked. */
  readonly approvalMs: number | null
}

export const defaultApproval: SessionApproval = {
  policy: 'manual',
  trusted: [],
  whenNobodyAnswers: 'wait',
  approvalMs: null,
}

/** `<policy> <when nobody answers> <ms>`, and the trusted tools with commas behind it. approval.lua has the same form. */
export const approvalForm = /^(manual|auto|readOnly) (wait|deny|fail) (\d+)(?: ([A-Za-z0-9_,-]+))?$/

export function encodeApproval({ policy, trusted, whenNobodyAnswers, approvalMs }: SessionApproval): string {
  const tools = trusted.length === 0 ? '' : ` ${trusted.join(',')}`
  return `${policy} ${whenNobodyAnswers} ${approvalMs ?? 0}${tools}`
}

/** Null for a text that another program wrote. */
export function decodeApproval(text: string): SessionApproval | null {
  const [, policy, whenNobodyAnswers, ms, tools] = approvalForm.exec(text) ?? []
  if (policy === undefined) return null
  return {
    policy: policy as ApprovalPolicy,
    trusted: tools === undefined ? [] : tools.split(','),
    whenNobodyAnswers: whenNobodyAnswers as WhenNobodyAnswers,
    approvalMs: Number(ms) || null,
  }
}
