/**
 * Duty: end a run with the arguments of a terminal tool, which never runs.
 * TERMINAL-1 The reply, the results of all its calls and the end of the run are recorded together, so no call of it ever runs.
 * TERMINAL-2 If something steers the run, these calls get results that say so, and the run goes on with the message (STEERED-3).
 */
import { type ToolStatus, textOf } from '../../../core/history/chat/chat-message.ts'
import type { Entry } from '../../../core/history/entry.ts'
import { lastResult, type OpenCall } from '../../../core/history/run/open-calls.ts'
import type { Mail } from '../../../core/worker/message/message.ts'
import { notBegunText, notEndedText, notRunText, ranOutText } from '../../tool/messages.ts'
import type { AgentTurn } from '../agent-turn.ts'
import type { AcceptedCall, Iteration } from '../iteration.ts'
import type { StepParts } from '../journal.ts'
import { recordSteers } from '../order/steered.ts'
import { complete } from './complete.ts'

interface TerminalParts {
  /** What is recorded before the results. */
  readonly entries?: readonly Entry[]
  readonly parts?: StepParts
  /** Inputs that wait and steer the run, if it may make another model call. */
  readonly steers?: readonly Mail[]
}

/** `open`: the calls that have no result. */
export function endByTool(
  agentTurn: AgentTurn,
  { reply }: Iteration,
  { call, input }: AcceptedCall,
  open: readonly OpenCall[],
  { entries = [], parts = {}, steers = [] }: TerminalParts = {},
): void {
  const { journal } = agentTurn
  const isSteered = steers.length > 0
  const results = open.map((one, index) => {
    const id = journal.nextId(entries.length + index)
    // Nobody knows what became of a call that an earlier turn started.
    if (one.isStarted) return journal.entry('toolResult', lastResult(one, id))
    const { toolCallId, toolName } = one
    const isEnd = toolCallId === call.toolCallId
    const result = (status: ToolStatus, type: 'text' | 'error-text', value: string) =>
      journal.entry('toolResult', { id, toolCallId, toolName, status, output: { type, value } })
    if (isSteered) return result('cancelled', 'error-text', isEnd ? notEndedText(toolName) : notBegunText)
    return isEnd ? result('ok', 'text', ranOutText) : result('error', 'error-text', notRunText(call.toolName))
  })
  if (isSteered) {
    recordSteers(agentTurn, steers, { entries: [...entries, ...results], parts })
    return
  }
  const result = { text: textOf(reply.content), output: input, terminalTool: call.toolName }
  complete(agentTurn, result, [...entries, ...results], parts)
}
