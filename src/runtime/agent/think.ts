/**
 * Duty: make one model call and act on the meaning of its reply: an answer, tool calls, a blank reply, or a failure.
 * Does not own: the call itself (ask-model.ts), running tools (call/act.ts).
 * THINK-1 The call is made only while the lease is trusted, and after the last reply and the effects of its calls are acknowledged. Only
 *         the result of a pure tool may still be on its way: after a crash that tool runs again.
 * THINK-2 The reply is recorded as it came, with all its calls, before any call runs. Invalid calls are answered in the same step.
 */

import type { AgentDefinition } from '../../core/definition/define-worker.ts'
import type { ModelReply, ModelRequest, PromptMessage } from '../../core/definition/model.ts'
import { LimitError, type RuntimeError, TransientError, toRuntimeError } from '../../core/errors.ts'
import { type AssistantMessage, type ToolCallBlock, toolCallsOf } from '../../core/history/chat/chat-message.ts'
import type { Entry } from '../../core/history/entry.ts'
import { asDecided } from '../../core/history/run/call-decision.ts'
import type { Spending } from '../../core/policy.ts'
import { noTelemetry } from '../../core/ports/telemetry.ts'
import type { Mail } from '../../core/worker/message/message.ts'
import { cutOffText, invalidArgumentsText } from '../tool/messages.ts'
import { mayCall } from '../turn/permit.ts'
import type { AgentTurn, Pause } from './agent-turn.ts'
import type { AgentTools } from './call/agent-tools.ts'
import { boundsOf } from './call/call-host.ts'
import { mayTellEnds, tellEnds } from './call/child/background.ts'
import { decidesCalls } from './call/decide-calls.ts'
import { asApproved, CallApprovalContext } from './call/person/approvals.ts'
import { answerUnlessHeld, mayAskForMore } from './hook/stop-hook.ts'
import {
  type AcceptedCall,
  acceptedCalls,
  type CheckedCall,
  type Iteration,
  needsApproval,
  type RunUse,
  runStages,
} from './iteration.ts'
import type { Journal, StepParts } from './journal.ts'
import { withBlobs } from './order/blob-media.ts'
import { historyFull } from './order/history-limit.ts'
import { readSteers, recordSteers } from './order/steered.ts'
import { answer, noFailure } from './reply/answer.ts'
import { askModel } from './reply/ask-model.ts'
import { blank } from './reply/blank.ts'
import { goOnAfterCut } from './reply/cut-reply.ts'
import { answerTimeout } from './reply/interrupted.ts'
import { fitOutput } from './reply/output.ts'
import { type AcceptedReply, acceptReply } from './reply/reply.ts'
import { endByTool } from './reply/terminal.ts'
import type { Retries } from './retries.ts'
import { advanceToReply, advanceToRequest } from './run-states.ts'

/** Returns null when the turn goes on with what is recorded. */
export async function think(agentTurn: AgentTurn, tools: AgentTools): Promise<Pause | null> {
  const { compactor, journal, kind, parts, turn } = agentTurn
  const { container, machine, position } = journal
  advanceToRequest(machine)
  const ownLimit = overOwnLimit(agentTurn)
  if (ownLimit !== null) return overBudget(agentTurn, ownLimit)
  const full = historyFull(agentTurn)
  if (full !== null) return limitReached(agentTurn, full)
  if (mayTellEnds(agentTurn)) await tellEnds(agentTurn)
  advanceToReply(machine)
  if (!turn.isSettled) await turn.settled()
  if (!mayCall(turn)) return null
  // What the answers of commits told of comes before the request.
  if (turn.steers.isWaiting) return null
  // The answer of the last commit says what the other agents of the session have used.
  const limit = overLimitOfSession(agentTurn)
  if (limit !== null) return overBudget(agentTurn, limit)
  const { iterations } = container.run
  const number = iterations + 1
  let before: readonly PromptMessage[] = []
  try {
    const named = agentTurn.folder()
    const folder = named && (await named)
    const prompt = tools.instructions(turn, folder, container.input)
    container.agentPrompt = kind.output === null ? prompt : `${prompt}\n\n${kind.output.prompt}`
    if (kind.sticky !== null) before = await kind.sticky.before(folder, boundsOf(turn.assignment), journal.log)
  } catch (thrown) {
    return cannotAsk(agentTurn, thrown)
  }
  if (!mayCall(turn)) return null
  const summary = compactor.beforeRequest()
  if (summary !== null) await summary
  if (agentTurn.isOver) return null
  let reply: AcceptedReply
  let request: ModelRequest | undefined
  try {
    const said = container.history.prompt()
    const prompt = before.length === 0 ? said : [...before, ...said]
    request = {
      instructions: container.instructions,
      messages: container.history.namesBlobs ? await withBlobs(prompt, turn) : prompt,
      tools: tools.specs(turn, container.history.hasLongResults),
      settings: kind.definition.settings,
      output: kind.output?.schema,
      idempotencyKey: requestKey(agentTurn, number),
    }
    // A message that came while a summary was written, or while files or blobs were read, comes before the request too.
    if (!mayCall(turn) || turn.steers.isWaiting) return null
    const { history } = container
    const rules = { model: kind.model.id, history, run: position.run, iteration: number }
    journal.countRequest()
    const answered = await askModel(turn, kind.model, request, number, kind.definition.limits, parts.telemetry)
    reply = acceptReply(answered, { ...rules, bytesMax: turn.host.policy.messageBytesMax })
  } catch (thrown) {
    // A message that does not fit the kind interrupted nothing.
    await turn.steers.judge()
    if (agentTurn.isOver || turn.steers.interrupts) return null
    if (request && isOverflow(thrown) && (await compactor.afterOverflow(request))) return null
    if (agentTurn.isOver || answerTimeout(agentTurn, toRuntimeError(thrown))) return null
    return modelFailed(agentTurn, thrown)
  }
  if (agentTurn.isOver) return null
  const steers = turn.steers.isWaiting ? await readSteers(agentTurn) : []
  if (agentTurn.isOver) return null
  machine.apply('replyReceived')
  return replied(agentTurn, tools, reply, steers)
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

/** Runs the stages of an iteration that only compute. They give the same result for a reply that an earlier turn recorded. */
export function iterate(
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

/** `steers`: inputs that wait and steer the run. */
function replied(
  agentTurn: AgentTurn,
  tools: AgentTools,
  reply: AcceptedReply,
  steers: readonly Mail[],
): Promise<null> | null {
  const { journal, end } = agentTurn
  const { container, machine } = journal
  const { run } = container
  const toolCalls = run.toolCalls + toolCallsOf(reply as AssistantMessage).length
  const iteration = iterate(agentTurn, tools, reply, { iterations: run.iterations + 1, toolCalls })
  agentTurn.iteration = iteration
  agentTurn.newest = iteration
  journal.countReply(agentTurn.kind.model.id, reply.usage, iteration.decision === 'blank')
  countIteration(agentTurn, iteration)
  if (iteration.decision === 'blank') return blank(agentTurn, reply, steers)
  const decides = decidesCalls(agentTurn)
  const accepted = decides ? iteration.calls.length : acceptedCalls(iteration)
  const error =
    iteration.error ?? (accepted > 0 && iteration.terminal === null ? tooManyCalls(agentTurn, accepted) : null)
  if (error && !iteration.error)
    agentTurn.newest = { ...iteration, error, trace: [...iteration.trace, 'budget_exceeded_session'] }
  // The calls count even if they do not run: then a retry of the run finds them counted.
  journal.countCalls(accepted)
  const { inputTokens, outputTokens, costMicroUsd } = reply.usage
  const { model, finishReason } = reply
  // A reply that was cut off or filtered is an answer like any other. Event and result name the reason so that readers can see it.
  const odd = finishReason === 'stop' || finishReason === 'tool-calls' ? {} : { finishReason }
  const note = {
    model,
    iteration: iteration.used.iterations,
    calls: iteration.calls.length,
    inputTokens,
    outputTokens,
    ...(costMicroUsd !== undefined && { costMicroUsd }),
    ...odd,
  }
  const parts: StepParts = { notes: [['model.replied', note]], ...noFailure(agentTurn) }
  const entry = journal.entry('assistant', { id: journal.nextId(), ...reply })
  const steering = iteration.used.iterations < iteration.most.iterations ? steers : []
  if (iteration.decision === 'done') {
    if (steering.length > 0) {
      recordSteers(agentTurn, steering, { entries: [entry], parts })
      return null
    }
    if (goOnAfterCut(agentTurn, reply, iteration, entry, parts)) return null
    if (mayAskForMore(agentTurn, iteration)) return answerUnlessHeld(agentTurn, reply, entry, parts)
    answer(agentTurn, reply, entry, parts)
    agentTurn.compactor.afterAnswer()
  } else if (iteration.terminal !== null && !decides) {
    endByTool(agentTurn, iteration, iteration.terminal, iteration.calls, { entries: [entry], parts, steers: steering })
  } else if (error) {
    machine.apply('limitReached')
    end.fail(error, 'runtime', 1, { entries: [entry], parts, notRun: iteration.calls })
  } else if (decides) {
    // Which calls are valid, and which need an approval, follows from what the kind decides about them.
    agentTurn.iteration = null
    machine.apply('callsAccepted')
    journal.add([entry], parts)
  } else {
    const invalid = iteration.checked.flatMap((call) => (call.kind === 'invalid' ? [call] : []))
    const areInvalid = invalid.length === iteration.checked.length
    const waits = iteration.checked.some(needsApproval)
    machine.apply(areInvalid ? 'callsInvalid' : waits ? 'approvalNeeded' : 'callsAccepted')
    const results = invalid.map((call, index) => invalidResult(journal, call, index + 1))
    journal.add([entry, ...results], parts)
  }
  return null
}

function countIteration({ parts: { telemetry }, turn }: AgentTurn, { used, calls }: Iteration): void {
  if (telemetry === noTelemetry) return
  const { sessionId, workerId } = turn.assignment
  telemetry.count('iterations', 1, { sessionId, workerId, iteration: used.iterations, toolCalls: calls.length })
}

/** `ahead`: how many entries come before it in the same step. */
export function invalidResult(
  journal: Journal,
  { call, text, isForbidden, isBroken }: CheckedCall & { kind: 'invalid' },
  ahead = 0,
): Entry {
  const { toolCallId, toolName } = call
  const output = { type: 'error-text', value: text } as const
  const more = isForbidden ? { approval: 'denied' as const } : {}
  return journal.entry('toolResult', {
    id: journal.nextId(ahead),
    toolCallId,
    toolName,
    status: 'error',
    output,
    ...more,
    ...(isBroken && { isBroken }),
  })
}

/** Says in words which limit is used up. Null when another model call may be made. */
function overOwnLimit({ journal, kind, who }: AgentTurn): string | null {
  const { tokens: limit, runMs } = kind.definition.limits ?? {}
  const { tokens, startedAt } = journal.container.run
  const ranMs = startedAt === null ? 0 : Date.now() - startedAt
  if (runMs !== undefined && ranMs >= runMs)
    return `${who} began this run ${ranMs} ms ago and may use ${runMs} ms: no further model call was made. Raise limits.runMs of its kind.`
  if (limit === undefined || tokens < limit) return null
  return `${who} has used ${tokens} tokens in this run and may use ${limit}: no further model call was made. Raise limits.tokens of its kind.`
}

function overLimitOfSession(agentTurn: AgentTurn): string | null {
  const { sessionSpent: spent } = agentTurn.journal
  const { allowed } = agentTurn.turn.session.spending
  const name = spent.modelCalls >= allowed.modelCalls ? 'modelCalls' : spent.tokens >= allowed.tokens ? 'tokens' : null
  return name && usedUp(agentTurn, name, `${agentTurn.who} made no further model call`)
}

/**
 * The error of tool calls that are too many for the session; null if they are not. Other agents may use up what is left at the same moment.
 * `more`: how many of them are not counted yet.
 */
export function tooManyCalls(agentTurn: AgentTurn, more: number): LimitError | null {
  const { journal, turn, who } = agentTurn
  if (journal.sessionSpent.toolCalls + more <= turn.session.spending.allowed.toolCalls) return null
  const asked = more === 0 ? 'the open ones were not run' : `${who} asked for ${more} more, which were not run`
  return new LimitError('budget_exceeded', usedUp(agentTurn, 'toolCalls', asked))
}

const spendingWords = { modelCalls: 'model calls', tokens: 'tokens', toolCalls: 'tool calls' } as const

/** `what`: what the worker did because the limit is used up. */
function usedUp({ journal, turn }: AgentTurn, name: keyof Spending, what: string): string {
  const { sessionSpent: spent } = journal
  const { allowed } = turn.session.spending
  const { sessionId, isJob, parentId } = turn.assignment
  const of = spendingWords[name]
  // The session of a job ends with its root: then it goes on with a higher limit. A child has told its parent.
  const more = `${name}=${2 * Math.max(spent[name], allowed[name])}`
  const onlyRetry = isJob ? `, or let this one go on with more: troupe session retry ${sessionId} --limits ${more}` : ''
  const raise =
    parentId !== null || !isJob
      ? `, or raise it while it is active: troupe session limit ${sessionId} ${more}`
      : onlyRetry
  const failed =
    name === 'modelCalls' && journal.tally.failedModelCalls
      ? `, with ${journal.tally.failedModelCalls} that failed`
      : ''
  return `session ${sessionId} has used ${spent[name]} of the ${allowed[name]} ${of} that its agents share${failed}: ${what}. Create sessions with a higher limits.${name}${raise}`
}

function overBudget(agentTurn: AgentTurn, what: string): null {
  return limitReached(agentTurn, new LimitError('budget_exceeded', what))
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

/** The model call failed: it is made again later, or the run fails. */
export function modelFailed({ journal, end, retries }: AgentTurn, thrown: unknown): Pause | null {
  const error = withDate(retries, toRuntimeError(thrown))
  const wait = retries.tryAgain(error, 'model')
  if (wait) return wait
  journal.machine.apply(error.retryable ? 'retriesExceeded' : 'replyRefused')
  end.fail(error, 'model', retries.failed('model') + 1, { leftOut: blamesPrompt(error) })
  return null
}

/** The error, with the moment from which the provider would answer, if that is too late for this run. */
function withDate(retries: Retries, error: RuntimeError): RuntimeError {
  const until = retries.tooLate(error, 'model')
  if (until === null || !(error instanceof TransientError)) return error
  const { details, retryAfterMs } = error
  const message = `${error.message} – it asks to be called again at ${until}, which is later than this run waits. Send the input again then.`
  return new TransientError(message, {
    code: error.code as 'model_overloaded',
    details,
    retryAfterMs: retryAfterMs ?? 0,
  })
}

/**
 * True if the model refused what the prompt holds. The same content in the next prompt would end each later run in the same way. Some
 * servers answer content that they cannot read with status 500.
 */
function blamesPrompt({ code, details }: RuntimeError): boolean {
  if (code === 'context_overflow') return true
  if (code === 'model_refused') return details.wouldRefuseAny !== true
  return code === 'model_unavailable' && details.status === 500
}
