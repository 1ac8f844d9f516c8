/**
 * Duty: call the hook `toolAfter` for the results of a reply, and give the model what it says.
 * TOOL-AFTER-1 It is called when all calls of a reply have their results, once for each of them; what it said is recorded with the number of the
 *              iteration. Only after a crash before that record it is called again.
 */
import type { CallResult } from '../../../core/definition/agent/agent-hooks.ts'
import { type ToolResultMessage, toolCallsOf } from '../../../core/history/chat/chat-message.ts'
import { policy } from '../../../core/policy.ts'
import { readOnly } from '../../../core/read-only.ts'
import { cutText } from '../../tool/output.ts'
import type { AgentTurn } from '../agent-turn.ts'
import { hookText, textEntry } from './hook-text.ts'
import { runHook } from './run-hook.ts'

/** True if there are results of which the hook does not know. */
export function hasNewResults({ kind, journal }: AgentTurn): boolean {
  if (kind.definition.hooks?.toolAfter === undefined) return false
  const { lastReply, run } = journal.container
  return lastReply !== null && run.resultsSeen < run.iterations && toolCallsOf(lastReply).length > 0
}

export async function tellResults(agentTurn: AgentTurn): Promise<null> {
  const { journal } = agentTurn
  const { lastResults, lastReply } = journal.container
  const order = new Map(lastReply && toolCallsOf(lastReply).map(({ toolCallId }, index) => [toolCallId, index]))
  const place = ({ toolCallId }: ToolResultMessage) => order.get(toolCallId) ?? 0
  const results = [...lastResults].sort((a, b) => place(a) - place(b))
  const texts = await Promise.all(results.map((result) => tell(agentTurn, result)))
  if (agentTurn.isOver) return null
  const said = texts.filter((text) => text !== null)
  const hooked = journal.entry('hooked', { hook: 'toolAfter', did: said.length > 0 ? 'context' : 'continue' })
  const text = cutText(said.join('\n\n'), policy.toolOutputBytesMax)
  journal.add(said.length > 0 ? [hooked, textEntry(journal, text, 1)] : [hooked])
  return null
}

async function tell(agentTurn: AgentTurn, { toolCallId, toolName, status, output }: ToolResultMessage) {
  const { hooks } = agentTurn.kind.definition
  const result: CallResult = readOnly({ toolCallId, toolName, status, output })
  const then = `nothing is added to the result of call ${toolCallId}`
  const end = await runHook(agentTurn, 'hooks.toolAfter', then, (self) => hooks?.toolAfter?.(result, self))
  return end.kind === 'returned' ? hookText(agentTurn.journal, 'hooks.toolAfter', end.value) : null
}
