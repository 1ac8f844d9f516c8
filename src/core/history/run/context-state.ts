/**
 * Duty: show the states of an agent's run with the data that belong to each, and the tool calls that they are about, from a report and a history.
 * CONTEXT-STATE-1 Nothing here is stored. The state is the word in the record; the data are those of the history and of the last failure.
 */
import type { ApprovalStatus } from '../../worker/ask/approval-status.ts'
import type { Failure, FailureOrigin } from '../../worker/run/failure.ts'
import type { RunState } from '../../worker/run/run-state.ts'
import { type AssistantMessage, type Json, type ToolCallBlock, toolCallsOf } from '../chat/chat-message.ts'
import { outputTextOf } from '../chat/media.ts'
import type { ContextContainer } from '../context-container.ts'
import type { CallApproval } from './call-approvals.ts'

/** What a model wrote behind the name of a tool: a text, a list of texts, or any other JSON. */
export type ToolArguments = string | readonly string[] | Json

/** The form of these arguments. An empty list counts as a list of texts. */
export function sortOfArguments(given: ToolArguments): 'string' | 'stringList' | 'json' {
  if (typeof given === 'string') return 'string'
  return Array.isArray(given) && given.every((one) => typeof one === 'string') ? 'stringList' : 'json'
}

/** A tool call, and whether it may run. A call that needs no approval counts as approved. */
export interface ToolCallRequest {
  readonly id: string
  readonly toolName: string
  readonly arguments: ToolArguments
  readonly approvalStatus: ApprovalStatus
}

/** The tool calls of a reply. `approvals`: as `approvalsOf(history)` gives them. */
export function toolCallRequests(
  reply: Pick<AssistantMessage, 'content'>,
  approvals: ReadonlyMap<string, Pick<CallApproval, 'status'>> = new Map(),
): ToolCallRequest[] {
  return toolCallsOf(reply as AssistantMessage).map((call) => requestOf(call, approvals.get(call.toolCallId)))
}

function requestOf(
  { toolCallId: id, toolName, input, inputText }: ToolCallBlock,
  approval: Pick<CallApproval, 'status'> | undefined,
): ToolCallRequest {
  return { id, toolName, arguments: inputText ?? input, approvalStatus: approval?.status ?? 'approved' }
}

export type ContextState =
  | {
      readonly state:
        | 'Idle'
        | 'ProcessingUserMessage'
        | 'AwaitingLLMResponse'
        | 'ProcessingLLMResponse'
        | 'ProcessingToolResults'
        | 'GeneratingResponse'
    }
  /** The calls that have no result yet. */
  | { readonly state: 'AwaitingToolApproval' | 'ExecutingTools'; readonly requests: readonly ToolCallRequest[] }
  /** The newest result that tells the model of an error. */
  | { readonly state: 'HandlingToolError'; readonly toolName: string | null; readonly error: string | null }
  /** `retryCount`: how many attempts have failed. `origin`: where the run goes on. */
  | {
      readonly state: 'TransientFailure'
      readonly error: string
      readonly retryCount: number
      readonly origin: FailureOrigin | null
    }
  /** `failedAt`: milliseconds since 1970. */
  | { readonly state: 'Failed'; readonly error: string; readonly failedAt: number | null }

/** The states whose data are in the history. */
export function needsHistory(run: RunState): boolean {
  return run === 'AwaitingToolApproval' || run === 'ExecutingTools' || run === 'HandlingToolError'
}

/** `report`: the report of the worker. `context`: its conversation; without it, data that are in the history are missing. */
export function contextStateOf(
  { run, lastFailure }: { readonly run: RunState; readonly lastFailure: Failure | null },
  context?: ContextContainer,
): ContextState {
  const error = lastFailure?.message ?? ''
  switch (run) {
    case 'AwaitingToolApproval':
    case 'ExecutingTools': {
      const pending = context?.pending
      const requests = pending?.calls.map((call) => requestOf(call, pending.approvals.get(call.toolCallId)))
      return { state: run, requests: requests ?? [] }
    }
    case 'HandlingToolError': {
      const failed = context?.history.messages.findLast(
        (message) => message.type === 'toolResult' && message.status === 'error',
      )
      if (failed?.type !== 'toolResult') return { state: run, toolName: null, error: null }
      return { state: run, toolName: failed.toolName, error: outputTextOf(failed.output) }
    }
    case 'TransientFailure':
      return { state: run, error, retryCount: lastFailure?.attempt ?? 0, origin: lastFailure?.origin ?? null }
    case 'Failed':
      return { state: run, error, failedAt: lastFailure?.at ?? null }
    case 'Idle':
    case 'ProcessingUserMessage':
    case 'AwaitingLLMResponse':
    case 'ProcessingLLMResponse':
    case 'ProcessingToolResults':
    case 'GeneratingResponse':
      return { state: run }
  }
}
