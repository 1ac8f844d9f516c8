/**
 * Duty: what code of a kind sees of one iteration: the reply of its model, and what became of it. Read-only, and made anew for each reply.
 * Does not own: the iteration itself (runtime/agent/iteration.ts), which decides; this only shows it.
 */
import type {
  AssistantMessage,
  ChatMessage,
  ToolCallBlock,
  ToolResultMessage,
} from '../../history/chat/chat-message.ts'
import type { Failure } from '../../worker/run/failure.ts'
import type { ToolSpec } from '../model.ts'
import type { WorkerIdentity } from '../worker-identity.ts'
import type { WorkerLog } from '../worker-log.ts'

/** The reply of a model. If an earlier turn recorded the reply, this is what it recorded. */
export type IterationResponse = Pick<AssistantMessage, 'content' | 'model' | 'finishReason' | 'usage'>

/** What follows from a reply. */
export type IterationDecision =
  /** The model is asked again, with these messages. */
  | { readonly type: 'continue'; readonly messages: readonly ChatMessage[] }
  /** The run has ended with an answer. */
  | { readonly type: 'done'; readonly response: IterationResponse }
  /** The reply had neither text nor calls: the model is asked again. */
  | { readonly type: 'blankStop'; readonly response: IterationResponse }
  /** The run has failed, or fails now. */
  | { readonly type: 'error'; readonly reason: Pick<Failure, 'code' | 'message'> }

/** A call that could not run, and what its model is told about it. */
export interface IterationProblem {
  readonly toolCallId: string
  readonly toolName: string
  readonly text: string
}

/** One reply of a model, and what became of it. Changing it changes nothing, and throws an error. */
export interface IterationContext {
  /** The conversation before the reply. */
  readonly messages: readonly ChatMessage[]
  /** The tools that the model was told of. */
  readonly tools: readonly ToolSpec[]
  /** What the model replied. */
  readonly response: IterationResponse
  /** The number of the iteration in its run, from 0. */
  readonly iteration: number
  /** How many iterations the run may have. */
  readonly maxIterations: number
  /** The calls of the reply, in its order. */
  readonly toolCalls: readonly ToolCallBlock[]
  /** Their results, in the order in which they were recorded. */
  readonly toolResults: readonly ToolResultMessage[]
  /** Messages that the conversation has gained since `messages`, for the next model call. Empty if there is none. */
  readonly resultMessages: readonly ChatMessage[]
  /** Calls that did not run because they do not fit, are unknown or forbidden. */
  readonly validationErrors: readonly IterationProblem[]
  /** What follows from the reply. */
  readonly decision: IterationDecision
  /** Whether the run goes on, or ends well. */
  readonly status: 'ok' | 'error'
  /** Why the run fails, if `status` is `error`. */
  readonly error: Pick<Failure, 'code' | 'message'> | null
  /** What each stage did: `parse_tool_calls`, `validate_calls`, `budget_ok`, `approve_all`, `dispatch_2`, `inject_results`, `loop_continue`. */
  readonly trace: readonly string[]
}

/** Which worker a callback of its kind is called for, and what it may use. */
export interface HookSelf extends WorkerIdentity {
  /** Number of the run, from 1. */
  readonly run: number
  /** Aborts when the time is over, the run is cancelled, the lease is lost or the node stops. Then nothing that the callback returns counts. */
  readonly signal: AbortSignal
  readonly log: WorkerLog
}

/** A callback of an agent kind that is told of each iteration. What it returns or throws changes nothing. */
export type OnIteration = (this: void, context: IterationContext, self: HookSelf) => void | Promise<void>
