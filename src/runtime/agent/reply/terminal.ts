/**
 * Duty: end a run with the arguments of a terminal tool, which never runs.
 * TERMINAL-1 The reply, the results of all its calls and the end of the run are recorded together, so no call of it ever runs.
 */
import { textOf } from '../../../core/history/chat/chat-message.ts'
import type { Entry } from '../../../core/history/entry.ts'
import { lastResult, type OpenCall } from '../../../core/history/run/open-calls.ts'
import { notRunText, ranOutText } from '../../tool/messages.ts'
import type { AgentTurn } from '../agent-turn.ts'
import type { AcceptedCall, Iteration } from '../iteration.ts'
import type { StepParts } from '../journal.ts'
import { complete } from './complete.ts'

/** `open`: the calls that have no result. `entries`: what is recorded before their results. */
export function endByTool(
  agentTurn: AgentTurn,
  { reply }: Iteration,
  { call, input }: AcceptedCall,
  open: readonly OpenCall[],
  entries: readonly Entry[] = [],
  parts: StepParts = {},
): void {
  const { journal } = agentTurn
  const results = open.map((one, index) => {
    const id = journal.nextId(entries.length + index)
    // Nobody knows what became of a call that an earlier turn started.
    if (one.isStarted) return journal.entry('toolResult', lastResult(one, id))
    const { toolCallId, toolName } = one
    const isEnd = toolCallId === call.toolCallId
    const value = isEnd ? ranOutText : notRunText(call.toolName)
    const output = isEnd ? ({ type: 'text', value } as const) : ({ type: 'error-text', value } as const)
    return journal.entry('toolResult', { id, toolCallId, toolName, status: isEnd ? 'ok' : 'error', output })
  })
  const result = { text: textOf(reply.content), output: input, terminalTool: call.toolName }
  complete(agentTurn, result, [...entries, ...results], parts)
}
