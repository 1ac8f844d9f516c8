/**
 * Duty: define how the approval of a tool call is asked and answered, as an ask of sort approval, and how such a call stands.
 * Does not own: whether a call needs an approval (approval.ts), the ask itself (ask.ts).
 * APPROVAL-ASK-1 An answer carries the hash of the call that it approves: tool, schema of its input, worker, call, arguments. Whoever answers
 *                computes it from what the ask shows. The worker computes it again from what it would run, and runs nothing else.
 * APPROVAL-ASK-2 An approval is for one call. The id of the call is part of its hash, and a call ends with one result.
 */
import { isObject } from '../../check/is-object.ts'
import type { Json } from '../../history/chat/chat-message.ts'
import { approvalHash } from './approval-hash.ts'
import type { AskBody } from './ask.ts'

/** What the ask of a call shows. */
export interface ApprovalDetails {
  readonly tool: string
  readonly toolCallId: string
  /** The arguments as the model wrote them. */
  readonly arguments: Json
  readonly schemaHash: string
  /** The hash of the call with these arguments, for whoever shows or compares it. */
  readonly hash: string
  /** Why a person is asked. */
  readonly why: string
  /** Trust in the tool would change nothing. */
  readonly eachTime?: true
  /** Why the same call is asked about again. */
  readonly again?: string
}

/** What a person decides about a call. */
export interface ApprovalDecision {
  readonly decision: 'approve' | 'deny'
  /** With approve: the call runs with these arguments, in place of those that the model wrote. */
  readonly arguments?: Json
  /** With approve: no further call of this tool is asked about in this session. */
  readonly trust?: 'tool'
}

/** A decision as the worker receives it. `hash`: absent if a program answered past the client. */
export type BoundDecision = ApprovalDecision & { readonly hash?: string }

const questionCharsMax = 300

/** `inputSchema`: JSON Schema of the arguments. */
export function approvalBody(details: ApprovalDetails, inputSchema: Readonly<Record<string, unknown>>): AskBody {
  const shown = JSON.stringify(details.arguments) ?? ''
  const brief = shown.length <= questionCharsMax ? shown : `${shown.slice(0, questionCharsMax).toWellFormed()} …`
  return { question: `May ${details.tool} run with ${brief}?`, schema: decisionSchema(inputSchema), details }
}

/** References in a JSON Schema are paths from its root: definitions move there, and a schema that refers to itself is not checked here. */
function decisionSchema({ $defs, ...inputSchema }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isMovable = !/"\$ref":"#(?!\/\$defs\/)/.test(JSON.stringify(inputSchema) + JSON.stringify($defs ?? ''))
  return {
    type: 'object',
    properties: {
      decision: { type: 'string', enum: ['approve', 'deny'] },
      arguments: isMovable ? inputSchema : {},
      trust: { type: 'string', enum: ['tool'] },
    },
    required: ['decision'],
    additionalProperties: false,
    ...(isMovable && $defs !== undefined && { $defs }),
  }
}

/** Null for details of another program. */
export function readApprovalDetails(details: unknown): ApprovalDetails | null {
  if (!isObject(details)) return null
  const { tool, toolCallId, schemaHash } = details
  const areTexts = [tool, toolCallId, schemaHash].every((text) => typeof text === 'string')
  return areTexts && 'arguments' in details ? (details as unknown as ApprovalDetails) : null
}

/** The details of the same call of another worker. Null for details of another kind. */
export function rehashed(details: unknown, workerId: string): ApprovalDetails | null {
  const read = readApprovalDetails(details)
  if (read === null) return null
  const { tool, toolCallId, schemaHash } = read
  return { ...read, hash: approvalHash({ tool, schemaHash, workerId, toolCallId, arguments: read.arguments }) }
}

/** The short form of a decision is its word. Any other value is returned as it is. */
export function toDecision(value: unknown): unknown {
  return value === 'approve' || value === 'deny' ? { decision: value } : value
}

/** APPROVAL-ASK-1: the decision, with the hash of what the person saw, or of what they wrote in its place. */
export function bindDecision(decision: ApprovalDecision, details: ApprovalDetails, workerId: string): BoundDecision {
  const { tool, toolCallId, schemaHash } = details
  const args = decision.arguments === undefined ? details.arguments : decision.arguments
  return { ...decision, hash: approvalHash({ tool, schemaHash, workerId, toolCallId, arguments: args }) }
}

/** Null for a value that is no decision. */
export function readDecision(value: unknown): BoundDecision | null {
  if (!isObject(value) || (value.decision !== 'approve' && value.decision !== 'deny')) return null
  return value as unknown as BoundDecision
}
