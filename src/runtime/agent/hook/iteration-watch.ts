/**
 * Duty: tell the kind's `onIteration`, and those who follow the session, of each iteration that is complete.
 * Owns: the context that is made of it. Does not own: the iteration (../iteration.ts), running the callback (run-hook.ts).
 * ITERATION-WATCH-1 An iteration is reported once in a turn. After a crash a callback may be called again for an iteration, or miss it: it
 *                   changes nothing.
 * ITERATION-WATCH-2 A kind without the callback, in a session that nobody follows, does nothing for it.
 * ITERATION-WATCH-3 An iteration is complete when each of its calls has a result, or when its run is over.
 */
import type {
  IterationContext,
  IterationDecision,
  IterationResponse,
} from '../../../core/definition/agent/iteration-context.ts'
import type { ToolResultMessage } from '../../../core/history/chat/chat-message.ts'
import { readOnly } from '../../../core/read-only.ts'
import type { Failure } from '../../../core/worker/run/failure.ts'
import type { AgentTurn, Pause } from '../agent-turn.ts'
import type { AgentTools } from '../call/agent-tools.ts'
import type { Iteration } from '../iteration.ts'
import { runHook } from './run-hook.ts'

/** The model call, or the calls of its reply. */
type Doing = (agentTurn: AgentTurn, tools: AgentTools) => Promise<Pause | null>

/** What there was before the step: what the step did follows from the difference. */
interface Before {
  /** The position of the reply among the messages. */
  readonly at: number
  readonly run: number
  readonly iteration: number
}

export function isWatched({ kind, turn }: AgentTurn): boolean {
  return kind.definition.onIteration !== undefined || turn.live.isFollowed
}

export async function watched(agentTurn: AgentTurn, tools: AgentTools, doing: Doing): Promise<Pause | null> {
  const { container, position } = agentTurn.journal
  const { messages, openCount } = container.history
  const { iterations } = container.run
  const reply = openCount > 0 ? container.lastReply : null
  const before = {
    at: reply === null ? messages.length : messages.lastIndexOf(reply),
    run: position.run,
    iteration: reply === null ? iterations : iterations - 1,
  }
  agentTurn.newest = null
  const pause = await doing(agentTurn, tools)
  const { newest } = agentTurn
  if (newest !== null && !agentTurn.isOver && isComplete(agentTurn, before))
    await tell(agentTurn, tools, newest, before)
  return pause
}

function isComplete({ journal }: AgentTurn, { run }: Before): boolean {
  const { position, container } = journal
  return !isOpen(position, run) || container.history.openCount === 0 || container.run.failure !== null
}

function isOpen(position: { readonly open: boolean; readonly run: number }, run: number): boolean {
  return position.open && position.run === run
}

async function tell(agentTurn: AgentTurn, tools: AgentTools, newest: Iteration, before: Before): Promise<void> {
  const { kind, turn } = agentTurn
  const context = contextOf(agentTurn, tools, newest, before)
  const { iteration, decision, toolCalls, trace, error } = context
  turn.live.tell([
    [
      'iteration.completed',
      { run: before.run, iteration, decision: decision.type, calls: toolCalls.length, trace, ...(error && { error }) },
    ],
  ])
  const { onIteration } = kind.definition
  if (onIteration === undefined) return
  // An answer does not wait for the callback.
  turn.flush()
  const then = 'the run goes on as without it'
  await runHook(agentTurn, 'onIteration', then, (self) => onIteration(readOnly(context), self), before.run)
}

function contextOf(
  { journal, end, turn }: AgentTurn,
  tools: AgentTools,
  newest: Iteration,
  { at, run, iteration }: Before,
): IterationContext {
  const { container, position } = journal
  const all = container.history.messages
  const said = all.slice(at)
  const isOver = !isOpen(position, run)
  const failed = isOver ? end.lastFailure(run) : container.run.failure
  const error = failed && { code: failed.code, message: failed.message }
  const toolResults = said.filter(({ type }) => type === 'toolResult') as ToolResultMessage[]
  const response = responseOf(newest)
  const decision: IterationDecision = error
    ? { type: 'error', reason: error }
    : isOver
      ? { type: 'done', response }
      : newest.decision === 'blank'
        ? { type: 'blankStop', response }
        : { type: 'continue', messages: all.slice() }
  return {
    messages: all.slice(0, at),
    tools: tools
      .specs(turn, container.history.hasLongResults)
      .map((spec) => ({ ...spec, inputSchema: structuredClone(spec.inputSchema) })),
    response,
    iteration,
    maxIterations: newest.most.iterations,
    toolCalls: [...newest.calls],
    toolResults,
    resultMessages: decision.type === 'continue' ? said : [],
    validationErrors: newest.checked.flatMap((one) => {
      const { toolCallId, toolName } = one.call
      return one.kind === 'invalid' ? [{ toolCallId, toolName, text: one.text }] : []
    }),
    decision,
    status: error ? 'error' : 'ok',
    error,
    trace: [...newest.trace, ...traceOf(newest, toolResults, decision, failed)],
  }
}

function responseOf({ reply }: Iteration): IterationResponse {
  const { content, model = '', finishReason = 'other', usage = { inputTokens: 0, outputTokens: 0 } } = reply
  return { content, model, finishReason, usage }
}

/** What the stages behind `approve` did, which record as they go. */
function traceOf(
  newest: Iteration,
  results: readonly ToolResultMessage[],
  { type }: IterationDecision,
  failed: Failure | null,
): string[] {
  if (newest.decision === 'blank') return type === 'done' ? ['loop_done_fallback'] : []
  if (newest.decision === 'done') return type === 'continue' ? ['loop_continue'] : []
  // The model is told of arguments that do not fit the output of the kind.
  if (newest.decision === 'terminal') return type === 'continue' ? ['inject_results', 'loop_continue'] : []
  if (newest.decision === null || newest.error) return []
  const kept = new Set(results.flatMap(({ toolCallId, approval }) => (approval === undefined ? [] : [toolCallId])))
  const ran = newest.checked.filter(({ kind, call }) => kind === 'accepted' && !kept.has(call.toolCallId)).length
  return [`dispatch_${ran}`, ...(failed ? [] : ['inject_results', 'loop_continue'])]
}
