/** Duty: provisional. */
import { hash } from 'node:crypto'
import type { Tool } from '../definition/define-tool.ts'

export type ApprovalPolicy = 'manual' | 'auto' | 'readOnly'
export type ApprovalVerdict =
  | { readonly do: 'run' }
  | { readonly do: 'ask'; readonly why: string }
  | { readonly do: 'deny'; readonly why: string }
export function approvalHash(call: {
  tool: string
  schemaHash: string
  workerId: string
  toolCallId: string
  arguments: unknown
}): string {
  return hash('sha256', JSON.stringify([call.tool, call.schemaHash, call.workerId, call.toolCallId, call.arguments]))
}
export function schemaHash(schema: unknown): string {
  return hash('sha256', JSON.stringify(schema))
}
export function decideApproval({ tool, input }: { tool: Tool; input: unknown }): ApprovalVerdict {
  const { approval } = tool as unknown as { approval?: unknown }
  const asks = typeof approval === 'function' ? approval(input) : approval === 'always'
  return asks ? { do: 'ask', why: 'the tool asks for it' } : { do: 'run' }
}
export interface SessionApproval {
  readonly policy: ApprovalPolicy
  readonly trusted: readonly string[]
  readonly whenNobodyAnswers: 'wait' | 'deny' | 'fail'
  readonly approvalMs: number | null
}
export const defaultApproval: SessionApproval = { policy: 'manual', trusted: [], whenNobodyAnswers: 'wait', approvalMs: null }
