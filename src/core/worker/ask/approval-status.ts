/** Duty: the words for how the approval of a tool call stands. */

export const approvalStatuses = ['pending', 'approved', 'denied'] as const
export type ApprovalStatus = (typeof approvalStatuses)[number]
