/**
 * Duty: carry out the open calls of the newest reply (children, messages, asks, tools) until each call has its result. Also end a run because
 * of its results: a result that holds a failure, or the same errors again and again.
 * ACT-1 It starts in the same way in the turn that recorded the reply and in a turn that takes over after a crash.
 */
import { thrownFields } from '../../../core/code-place.ts'
import { type RuntimeError, toRuntimeError } from '../../../core/errors.ts'
import type { ToolCallBlock } from '../../../core/history/chat/chat-message.ts'
import type { RunMachine } from '../../../core/worker/run/lifecycle.ts'
import { goOn } from '../../../core/worker/wait.ts'
import { mayCall } from '../../turn/permit.ts'
import type { AgentTurn, Pause } from '../agent-turn.ts'
import type { CheckedCall } from '../iteration.ts'
import { openCallsOf } from '../journal.ts'
import { readSteers } from '../order/steered.ts'
import { noFailure } from '../reply/answer.ts'
import { iterationOf } from '../reply/reply-iteration.ts'
import { endByTool } from '../reply/terminal.ts'
import { tooManyCalls } from '../run-limits.ts'
import type { AgentTools } from './agent-tools.ts'
import { type CallsEnd, invalidResult } from './call-host.ts'
import { DelegatedCalls } from './child/delegated-calls.ts'
import { decideCalls, decidesCalls } from './decide-calls.ts'
import { runLocalCalls } from './local/local-calls.ts'
import { CallApprovalContext, passApprovals } from './person/approvals.ts'
import type { AskInput } from './person/ask-person.ts'
import { beginAsk, takeAnswers, waitForAnswers } from './person/asked-calls.ts'

/** Returns null when the turn goes on with what is recorded. */
export async function act(agentTurn: AgentTurn, listed: AgentTools): Promise<Pause | null> {
  const { journal, inbox, retries, turn } = agentTurn
  const { container, machine } = journal
  toTools(machine)
  if (!takeAnswers(agentTurn)) return null
  const tools = decidesCalls(agentTurn) ? await decideCalls(agentTurn, listed) : listed
  if (agentTurn.isOver || turn.steers.interrupts) return null
  // A call that started children, or asked, waits for them, even if the kind may not do so any more (DELEGATED-1, ASKED-1).
  const { pending } = container
  const isWaiting = (id: string) => pending.delegated.has(id) || pending.asked.has(id)
  const open = new Set(pending.calls.map(({ toolCallId }) => toolCallId).filter((id) => !isWaiting(id)))
  // The number of calls in a recorded reply was checked when the reply was recorded. 0 is within any limit. A run that was retried may have failed
  // because of that number.
  const isRetried = container.run.retriedAfter !== null
  const used = isRetried ? container.run : { iterations: 0, toolCalls: 0 }
  const iteration = agentTurn.iteration ?? iterationOf(agentTurn, tools, container.lastReply ?? { content: [] }, used)
  agentTurn.newest = iteration
  const error = iteration.error ?? (isRetried ? tooManyCalls(agentTurn, 0) : null)
  if (error) return refuseCalls(agentTurn, error)
  if (iteration.terminal !== null) {
    // Only a resolver, or a kind that has changed, makes a recorded call a terminal one.
    const steers = turn.steers.isWaiting ? await readSteers(agentTurn) : []
    if (agentTurn.isOver) return null
    const mayGoOn = container.run.iterations < iteration.most.iterations
    endByTool(agentTurn, iteration, iteration.terminal, openCallsOf(container), {
      parts: noFailure(agentTurn),
      steers: mayGoOn ? steers : [],
    })
    return null
  }
  const { checked } = iteration
  agentTurn.iteration = null
  const approvals = await passApprovals(
    agentTurn,
    tools,
    checked.filter(({ call }) => open.has(call.toolCallId)),
  )
  if (approvals.kind !== 'pass') return approvals.kind === 'pause' ? approvals.pause : null
  const { calls } = approvals
  const delegated = new DelegatedCalls(agentTurn.kind.definition, journal, async () => agentTurn.folder())
  // Children of a call that was interrupted may have ended since: they make room for others.
  if (pending.delegated.size === 0) delegated.collectResults(inbox)
  await beginCalls(agentTurn, tools, calls, delegated)
  if (agentTurn.isOver) return null
  const ended = await runLocal(agentTurn, tools, tools.locals(calls, pending.started))
  // Until it is read, an input that does not fit the kind keeps calls from beginning, too. It interrupts nothing.
  const hadInterrupt = turn.steers.interrupts
  if (!agentTurn.isOver && hadInterrupt) await readSteers(agentTurn)
  if (agentTurn.isOver || turn.steers.interrupts) return null
  if (ended === null || container.run.failure) return null
  if (ended.kind === 'retry') return retries.tryAgain(ended.error, 'tool', ended)
  // A call that was kept from beginning is still open, and waits for nothing: if the turn drains (or is paused), the next turn begins it.
  const mayBeLeft = turn.isDraining || hadInterrupt
  const isLeft = mayBeLeft && container.pending.calls.some(({ toolCallId: id }) => open.has(id) && !isWaiting(id))
  if (isLeft) return turn.isDraining ? { for: goOn } : null
  const answers = waitForAnswers(journal)
  // An answer ends the wait for results too (WAIT-2).
  return delegated.collectResults(inbox) ?? answers
}

/** Begins the calls that ask and those that delegate: their results come later. Calls that are no longer valid get their result now. */
async function beginCalls(
  agentTurn: AgentTurn,
  tools: AgentTools,
  calls: readonly CheckedCall[],
  delegated: DelegatedCalls,
): Promise<void> {
  const { journal, turn } = agentTurn
  const { started } = journal.container.pending
  for (const one of calls) {
    // A started call is reconciled, even if its arguments are no longer valid (LOCAL-2 of local-calls.ts).
    if (started.has(one.call.toolCallId)) continue
    // The call was valid when it was recorded, but the kind has changed since.
    if (one.kind === 'invalid') journal.add([invalidResult(journal, one)])
    else if (!mayCall(turn)) continue
    else if (tools.isAsk(one.call.toolName)) beginAsk(journal, one.call, one.input as AskInput)
    else if (tools.isDelegation(one.call.toolName)) await delegated.begin(one.call, one.input)
    if (agentTurn.isOver) return
  }
}

/** Returns null when the run has failed. */
async function runLocal(
  agentTurn: AgentTurn,
  tools: AgentTools,
  calls: Parameters<typeof runLocalCalls>[1],
): Promise<CallsEnd | null> {
  if (calls.length === 0) return { kind: 'done' }
  const { journal, parts, kind, retries } = agentTurn
  try {
    const folder = agentTurn.folder()
    return await runLocalCalls(
      {
        journal,
        executor: parts.executor,
        definition: kind.definition,
        folder: folder && (await folder),
        failedAttempts: retries.failed('tool'),
        retryMs: (tool, error) => retries.toolWaitMs(tool, error),
        telemetry: parts.telemetry,
        step: (call) => stepOf(agentTurn, tools, call),
      },
      calls,
    )
  } catch (thrown) {
    // The folder of the worker cannot be found.
    journal.machine.apply('toolRefused')
    agentTurn.end.fail(toRuntimeError(thrown), 'runtime', 1)
    return null
  }
}

/** The checks of a call, for a step of a recipe. */
function stepOf({ turn, journal }: AgentTurn, tools: AgentTools, call: ToolCallBlock) {
  const checked = tools.check(call, turn.assignment)
  const context = new CallApprovalContext(journal, call.toolCallId)
  return {
    checked: checked.kind === 'invalid' ? checked : tools.approve(checked, turn.session.approval, context),
    tool: tools.toolOf(call),
  }
}

/** The open calls cannot be run now: they are tried again later, or the run fails. */
export function toolsFailed({ journal, end, retries }: AgentTurn, error: RuntimeError): Pause | null {
  journal.log.warn('tools could not be loaded', { error: error.message, ...thrownFields(error) })
  toTools(journal.machine)
  const wait = retries.tryAgain(error, 'tool')
  if (wait) return wait
  journal.machine.apply('toolRefused')
  end.fail(error, 'tool', retries.failed('tool') + 1)
  return null
}

/** A run that was retried has no more iterations than before. */
function refuseCalls({ journal, end }: AgentTurn, error: RuntimeError): null {
  journal.machine.apply('toolRefused')
  end.fail(error, 'runtime', 1)
  return null
}

function toTools(machine: RunMachine): void {
  if (machine.state === 'TransientFailure') machine.apply('toolRetried')
}

/** Fails the run if the result of a call says that the run must fail. Returns true if it did. */
export function failAsRecorded({ journal, end }: AgentTurn): boolean {
  const { failure } = journal.container.run
  if (failure === null) return false
  journal.machine.apply('toolRefused')
  end.failWith(failure)
  return true
}
