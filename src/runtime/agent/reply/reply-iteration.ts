/**
 * Duty: work out what a reply means for this agent: the stages of an iteration, with the limits, the tools and the approvals that hold now.
 * Does not own: the stages (iteration.ts), what follows from them (think.ts, call/act.ts).
 */
import type { AgentDefinition } from '../../../core/definition/define-worker.ts'
import type { ModelReply } from '../../../core/definition/model.ts'
import type { ToolCallBlock } from '../../../core/history/chat/chat-message.ts'
import { asDecided } from '../../../core/history/run/call-decision.ts'
import { cutOffText, invalidArgumentsText } from '../../tool/messages.ts'
import type { AgentTurn } from '../agent-turn.ts'
import type { AgentTools } from '../call/agent-tools.ts'
import { asApproved, CallApprovalContext } from '../call/person/approvals.ts'
import { type AcceptedCall, type CheckedCall, type Iteration, type RunUse, runStages } from '../iteration.ts'
import { fitOutput } from './output.ts'

/** Runs the stages of an iteration that only compute. They give the same result for a reply that an earlier turn recorded. */
export function iterationOf(
  { journal, kind, turn, who }: AgentTurn,
  tools: AgentTools,
  reply: Pick<ModelReply, 'content'> & Partial<ModelReply>,
  used: RunUse,
): Iteration {
  const { policy } = turn.host
  const { assignment } = turn
  const { limits } = kind.definition
  const most = {
    iterations: limits?.iterations ?? policy.iterations,
    toolCalls: limits?.toolCalls ?? policy.toolCalls,
  }
  const callsPerReply = limits?.callsPerReply ?? policy.callsPerReply
  const { container } = journal
  const { approvals, decided, calls, started } = container.pending
  const check = (call: ToolCallBlock): CheckedCall => {
    if (isCutOff(reply, call)) return { kind: 'invalid', call, text: cutOffText(call.toolName), isBroken: true }
    const decision = decided.get(call.toolCallId)
    if (decision?.refused !== undefined) return { kind: 'invalid', call, text: decision.refused }
    const checked = tools.check(asApproved(asDecided(call, decision), approvals.get(call.toolCallId)), assignment)
    return checked.kind === 'accepted' && tools.isTerminal(call) ? asOutput(kind.definition, checked) : checked
  }
  const approve = (one: AcceptedCall) =>
    tools.approve(one, journal.turn.session.approval, new CallApprovalContext(journal, one.call.toolCallId))
  // A call of a recorded reply may have been run already, if its tool was not terminal then.
  const isUntouched = ({ toolCallId: id }: ToolCallBlock) =>
    reply !== container.lastReply || (!started.has(id) && calls.some(({ toolCallId }) => toolCallId === id))
  const isTerminal = ({ call }: AcceptedCall) => tools.isTerminal(call) && isUntouched(call)
  return runStages(reply, used, { who, most, callsPerReply, check, isTerminal, approve })
}

/** AGENT-OUTPUT-1: the arguments of a terminal tool are the result. */
function asOutput({ output }: AgentDefinition, checked: AcceptedCall): CheckedCall {
  if (output === undefined) return checked
  const { call, input } = checked
  const fit = fitOutput(output, input)
  if (fit.ok) return { ...checked, input: fit.value }
  return { kind: 'invalid', call, text: invalidArgumentsText(call.toolName, fit.reasons) }
}

/**
 * True for a call whose arguments were cut off at the length limit. Empty arguments count as cut off, because a tool would take them for
 * a request without restrictions.
 */
function isCutOff({ content, finishReason }: Partial<ModelReply>, call: ToolCallBlock): boolean {
  if (finishReason !== 'length' || content?.at(-1) !== call) return false
  const { input, inputText } = call
  return inputText !== undefined || (typeof input === 'object' && input !== null && Object.keys(input).length === 0)
}
