/** Duty: what code of the kind decided about a call before it ran: which tool it means, with which arguments, or that it does not run. */
import type { Json, ToolCallBlock } from '../chat/chat-message.ts'

export interface CallDecision {
  readonly toolCallId: string
  /** The tool that runs, if the model wrote another name. */
  readonly tool?: string
  /** The arguments with which it runs, if the model wrote others. */
  readonly arguments?: Json
  /** Why the call does not run, as its model is told. */
  readonly refused?: string
}

/** The call as it was decided. The results of the call stand beside the call that the model wrote. */
export function asDecided(call: ToolCallBlock, decision: CallDecision | undefined): ToolCallBlock {
  if (decision === undefined) return call
  const { tool = call.toolName } = decision
  if (decision.arguments === undefined) return tool === call.toolName ? call : { ...call, toolName: tool }
  const { inputText: _written, ...rest } = call
  return { ...rest, toolName: tool, input: decision.arguments }
}
