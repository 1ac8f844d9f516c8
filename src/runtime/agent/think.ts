/**
 * Duty: make one model call and act on the meaning of its reply: an answer, tool calls, a blank reply, or a failure.
 * Does not own: the call itself (reply/ask-model.ts), what the reply means (reply/reply-iteration.ts), running tools (call/act.ts).
 * THINK-1 The call is made only while the lease is trusted, and after the last reply and the effects of its calls are acknowledged. Only
 *         the result of a pure tool may still be on its way: after a crash that tool runs again.
 * THINK-2 The reply is recorded as it came, with all its calls, before any call runs. Invalid calls are answered in the same step.
 */

import type { ModelRequest, PromptMessage } from '../../core/definition/model.ts'
import { type LimitError, type RuntimeError, toRuntimeError } from '../../core/errors.ts'
import { type AssistantMessage, toolCallsOf } from '../../core/history/chat/chat-message.ts'
import type { Entry } from '../../core/history/entry.ts'
import { noTelemetry } from '../../core/ports/telemetry.ts'
import type { Mail } from '../../core/worker/message/message.ts'
import { mayCall } from '../turn/permit.ts'
import type { AgentTurn, Pause } from './agent-turn.ts'
import type { AgentTools } from './call/agent-tools.ts'
import { boundsOf, invalidResult } from './call/call-host.ts'
import { mayTellEnds, tellEnds } from './call/child/background.ts'
import { decidesCalls } from './call/decide-calls.ts'
import { answerUnlessHeld, mayAskForMore } from './hook/stop-hook.ts'
import { acceptedCalls, type Iteration, needsApproval } from './iteration.ts'
import type { StepParts } from './journal.ts'
import { withBlobs } from './order/blob-media.ts'
import { historyFull } from './order/history-limit.ts'
import { readSteers, recordSteers } from './order/steered.ts'
import { answer, noFailure } from './reply/answer.ts'
import { askModel } from './reply/ask-model.ts'
import { blank } from './reply/blank.ts'
import { goOnAfterCut } from './reply/cut-reply.ts'
import { answerTimeout } from './reply/interrupted.ts'
import { modelFailed } from './reply/model-failed.ts'
import { OpenRequest } from './reply/open-request.ts'
import { type AcceptedReply, acceptReply } from './reply/reply.ts'
import { iterationOf } from './reply/reply-iteration.ts'
import { endByTool } from './reply/terminal.ts'
import { overRunLimit, overSessionLimit, tooManyCalls } from './run-limits.ts'
import { advanceToReply, advanceToRequest } from './run-states.ts'

/** Returns null when the turn goes on with what is recorded. */
export async function think(agentTurn: AgentTurn, tools: AgentTools): Promise<Pause | null> {
  const { compactor, journal, turn } = agentTurn
  const { machine } = journal
  advanceToRequest(machine)
  const limit = overRunLimit(agentTurn) ?? historyFull(agentTurn)
  if (limit !== null) return limitReached(agentTurn, limit)
  if (mayTellEnds(agentTurn)) await tellEnds(agentTurn)
  advanceToReply(machine)
  if (!turn.isSettled) await turn.settled()
  if (!mayCall(turn)) return null
  // What the answers of commits told of comes before the request.
  if (turn.steers.isWaiting) return null
  // The answer of the last commit says what the other agents of the session have used.
  const shared = overSessionLimit(agentTurn)
  if (shared !== null) return limitReached(agentTurn, shared)
  let before: readonly PromptMessage[]
  try {
    before = await writeInstructions(agentTurn, tools)
  } catch (thrown) {
    return cannotAsk(agentTurn, thrown)
  }
  if (!mayCall(turn)) return null
  const summary = compactor.beforeRequest()
  if (summary !== null) await summary
  if (agentTurn.isOver) return null
  const asked = await ask(agentTurn, tools, before)
  if ('pause' in asked) return asked.pause
  const steers = turn.steers.isWaiting ? await readSteers(agentTurn) : []
  if (agentTurn.isOver) return null
  asked.open.replied()
  machine.apply('replyReceived')
  return replied(agentTurn, tools, asked.reply, steers)
}

/** Writes the instructions into the container. Returns the messages that stand before the conversation. */
async function writeInstructions(agentTurn: AgentTurn, tools: AgentTools): Promise<readonly PromptMessage[]> {
  const { journal, kind, turn } = agentTurn
  const { container } = journal
  const named = agentTurn.folder()
  const folder = named && (await named)
  const prompt = tools.instructions(turn, folder, container.input)
  container.agentPrompt = kind.output === null ? prompt : `${prompt}\n\n${kind.output.prompt}`
  return kind.sticky === null ? [] : kind.sticky.before(folder, boundsOf(turn.assignment), journal.log)
}

/** `before`: what stands before the conversation. The turn ends with the pause, or goes on with what is recorded if that is null. */
async function ask(
  agentTurn: AgentTurn,
  tools: AgentTools,
  before: readonly PromptMessage[],
): Promise<{ readonly reply: AcceptedReply; readonly open: OpenRequest } | { readonly pause: Pause | null }> {
  const { compactor, journal, kind, parts, turn } = agentTurn
  const { history, run } = journal.container
  const iteration = run.iterations + 1
  let request: ModelRequest | undefined
  let open: OpenRequest | undefined
  try {
    const said = history.prompt()
    const prompt = before.length === 0 ? said : [...before, ...said]
    request = {
      instructions: journal.container.instructions,
      messages: history.namesBlobs ? await withBlobs(prompt, turn) : prompt,
      tools: tools.specs(turn, history.hasLongResults),
      settings: kind.definition.settings,
      output: kind.output?.schema,
      idempotencyKey: requestKey(agentTurn, iteration),
    }
    // A message that came while a summary was written, or while files or blobs were read, comes before the request too.
    if (!mayCall(turn) || turn.steers.isWaiting) return { pause: null }
    open = new OpenRequest(journal, kind.model)
    const { limits } = kind.definition
    const answered = await askModel(turn, kind.model, request, iteration, limits, parts.telemetry, open)
    const rules = { model: kind.model.id, history, run: journal.position.run, iteration }
    const reply = acceptReply(answered, { ...rules, bytesMax: turn.host.policy.messageBytesMax })
    // Until it is recorded, it may be lost: it was paid for.
    open.used(reply.usage)
    return agentTurn.isOver ? { pause: null } : { reply, open }
  } catch (thrown) {
    open?.failed(toRuntimeError(thrown))
    // A message that does not fit the kind interrupted nothing.
    await turn.steers.judge()
    if (agentTurn.isOver || turn.steers.interrupts) return { pause: null }
    if (request && isOverflow(thrown) && (await compactor.afterOverflow(request))) return { pause: null }
    if (agentTurn.isOver || answerTimeout(agentTurn, toRuntimeError(thrown))) return { pause: null }
    return { pause: modelFailed(agentTurn, thrown) }
  }
}

/** The same for the same prompt, also in a later turn: it follows from the history. */
function requestKey({ turn, journal }: AgentTurn, number: number): string {
  const { run, size } = journal.container
  const { blanks, steers } = run
  const again = [
    ...(steers > 0 ? [`s${steers}`] : []),
    ...(blanks > 0 ? [blanks] : []),
    ...(size.restarts > 0 ? [`c${size.restarts}`] : []),
  ]
  return [`${turn.assignment.workerId}/${journal.position.run}/${number}`, ...again].join('.')
}

function isOverflow(thrown: unknown): boolean {
  return toRuntimeError(thrown).code === 'context_overflow'
}

/** `steers`: inputs that wait and steer the run. */
function replied(
  agentTurn: AgentTurn,
  tools: AgentTools,
  reply: AcceptedReply,
  steers: readonly Mail[],
): Promise<null> | null {
  const { journal, end } = agentTurn
  const { run } = journal.container
  const toolCalls = run.toolCalls + toolCallsOf(reply as AssistantMessage).length
  const iteration = iterationOf(agentTurn, tools, reply, { iterations: run.iterations + 1, toolCalls })
  agentTurn.iteration = iteration
  agentTurn.newest = iteration
  journal.countReply(agentTurn.kind.model.id, reply.usage, iteration.decision === 'blank')
  countIteration(agentTurn, iteration)
  if (iteration.decision === 'blank') return blank(agentTurn, reply, steers)
  const decides = decidesCalls(agentTurn)
  const error = countCalls(agentTurn, iteration, decides)
  const parts: StepParts = { notes: [['model.replied', replyNote(reply, iteration)]], ...noFailure(agentTurn) }
  const entry = journal.entry('assistant', { id: journal.nextId(), ...reply })
  const steering = iteration.used.iterations < iteration.most.iterations ? steers : []
  if (iteration.decision === 'done') return answered(agentTurn, iteration, reply, { entry, parts, steering })
  if (iteration.terminal !== null && !decides) {
    endByTool(agentTurn, iteration, iteration.terminal, iteration.calls, { entries: [entry], parts, steers: steering })
  } else if (error) {
    journal.machine.apply('limitReached')
    end.fail(error, 'runtime', 1, { entries: [entry], parts, notRun: iteration.calls })
  } else if (decides) {
    // Which calls are valid, and which need an approval, follows from what the kind decides about them.
    agentTurn.iteration = null
    journal.machine.apply('callsAccepted')
    journal.add([entry], parts)
  } else recordCalls(agentTurn, iteration, entry, parts)
  return null
}

/** Counts the calls that may run. They count even if they do not run: then a retry of the run finds them counted. Returns the error that keeps them from it. */
function countCalls(agentTurn: AgentTurn, iteration: Iteration, decides: boolean): RuntimeError | null {
  const accepted = decides ? iteration.calls.length : acceptedCalls(iteration)
  const isTooMany = iteration.error === null && accepted > 0 && iteration.terminal === null
  const error = isTooMany ? tooManyCalls(agentTurn, accepted) : null
  if (error) agentTurn.newest = { ...iteration, error, trace: [...iteration.trace, 'budget_exceeded_session'] }
  agentTurn.journal.countCalls(accepted)
  return iteration.error ?? error
}

/** A reply that was cut off or filtered is an answer like any other. Event and result name the reason so that readers can see it. */
function replyNote({ model, finishReason, usage }: AcceptedReply, { used, calls }: Iteration) {
  const { inputTokens, outputTokens, costMicroUsd } = usage
  return {
    model,
    iteration: used.iterations,
    calls: calls.length,
    inputTokens,
    outputTokens,
    ...(costMicroUsd !== undefined && { costMicroUsd }),
    ...(finishReason !== 'stop' && finishReason !== 'tool-calls' && { finishReason }),
  }
}

/** The reply has no calls. `steering`: inputs that the run goes on with. */
function answered(
  agentTurn: AgentTurn,
  iteration: Iteration,
  reply: AcceptedReply,
  { entry, parts, steering }: { readonly entry: Entry; readonly parts: StepParts; readonly steering: readonly Mail[] },
): Promise<null> | null {
  if (steering.length > 0) {
    recordSteers(agentTurn, steering, { entries: [entry], parts })
    return null
  }
  if (goOnAfterCut(agentTurn, reply, iteration, entry, parts)) return null
  if (mayAskForMore(agentTurn, iteration)) return answerUnlessHeld(agentTurn, reply, entry, parts)
  answer(agentTurn, reply, entry, parts)
  agentTurn.compactor.afterAnswer()
  return null
}

/** Records the reply with its calls before any of them runs (THINK-2). */
function recordCalls({ journal }: AgentTurn, { checked }: Iteration, entry: Entry, parts: StepParts): void {
  const invalid = checked.flatMap((call) => (call.kind === 'invalid' ? [call] : []))
  const areInvalid = invalid.length === checked.length
  journal.machine.apply(areInvalid ? 'callsInvalid' : checked.some(needsApproval) ? 'approvalNeeded' : 'callsAccepted')
  const results = invalid.map((call, index) => invalidResult(journal, call, index + 1))
  journal.add([entry, ...results], parts)
}

function countIteration({ parts: { telemetry }, turn }: AgentTurn, { used, calls }: Iteration): void {
  if (telemetry === noTelemetry) return
  const { sessionId, workerId } = turn.assignment
  telemetry.count('iterations', 1, { sessionId, workerId, iteration: used.iterations, toolCalls: calls.length })
}

function limitReached({ journal, end }: AgentTurn, error: LimitError): null {
  journal.machine.apply('limitReached')
  end.fail(error, 'runtime', 1)
  return null
}

/** The instructions or the folder cannot be found. Another attempt would fail in the same way. */
function cannotAsk({ journal, end }: AgentTurn, thrown: unknown): null {
  journal.machine.apply('replyRefused')
  end.fail(toRuntimeError(thrown), 'runtime', 1)
  return null
}
