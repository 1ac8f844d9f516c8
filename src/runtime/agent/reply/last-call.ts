/**
 * Duty: end a run after a call with which its model said that it ends.
 * LAST-CALL-1 Whether the run ends follows from the recorded reply and its results, so a node that takes over ends it too.
 */
import { type ToolResultMessage, textOf, toolCallsOf } from '../../../core/history/chat/chat-message.ts'
import type { AgentTurn } from '../agent-turn.ts'
import type { AgentTools } from '../call/agent-tools.ts'
import { saysTerminate } from '../call/terminate.ts'
import { complete } from './complete.ts'

/** Ends the run if a call of the newest reply said so and succeeded. Returns true if it did. */
export function endAfterCall(agentTurn: AgentTurn, tools: AgentTools): boolean {
  if (agentTurn.kind.definition.mayTerminate !== true) return false
  const { container } = agentTurn.journal
  const reply = container.lastReply
  if (reply === null) return false
  const { messages } = container.history
  const since = messages.slice(messages.lastIndexOf(reply) + 1)
  // Something else was said since: then the model is asked again.
  if (!since.every((message): message is ToolResultMessage => message.type === 'toolResult')) return false
  const ending = new Set(
    toolCallsOf(reply).flatMap((call) => (saysTerminate(call, tools.toolOf(call)) ? [call.toolCallId] : [])),
  )
  const last = since.find(({ toolCallId, status }) => status === 'ok' && ending.has(toolCallId))
  if (last === undefined) return false
  const { value } = last.output
  const said = textOf(reply.content)
  const text = said.trim() !== '' ? said : typeof value === 'string' ? value : JSON.stringify(value)
  complete(agentTurn, { text }, [])
  return true
}
