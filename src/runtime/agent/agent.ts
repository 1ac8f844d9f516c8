/**
 * Duty: run the turns of agent workers: take an input, call the model, run the tool calls, until the model has answered.
 * Owns: the order of these steps within a turn. Does not own: what is recorded (journal.ts), the commits (runtime/turn).
 * AGENT-1 The next step follows only from what is recorded. A turn therefore goes on where the last commit of an earlier turn ended, on
 *         whatever node that turn ran.
 * AGENT-2 No model call starts, and no tool changes anything, before the reply that led to it is acknowledged by Redis.
 * AGENT-3 A worker waits only after a commit that ends the turn and names what the worker waits for: a timer, or results of children.
 * AGENT-4 Nothing is thrown out of the loop while a run is open: an unforeseen error fails the run, and the worker lives on.
 */

import { stackCharsMax, stackOf } from '../../core/code-place.ts'
import type { ContextSettings } from '../../core/definition/agent/context-settings.ts'
import { processorsOf } from '../../core/definition/agent/processors.ts'
import type { AgentDefinition } from '../../core/definition/define-worker.ts'
import { InvariantError, TerminalError, TransientError, toRuntimeError } from '../../core/errors.ts'
import type { EventNote } from '../../core/event/event.ts'
import type { RunPosition } from '../../core/ports/ports.ts'
import type { Mail } from '../../core/worker/message/message.ts'
import { forAny, goOn } from '../../core/worker/wait.ts'
import { lastStep } from '../handler/last-step.ts'
import type { Behaviour } from '../turn/behaviour.ts'
import { mayGoOn } from '../turn/permit.ts'
import type { Step } from '../turn/step/step.ts'
import { ConfiguredKinds, openKind } from './agent-kind.ts'
import { type AgentParts, AgentTurn, type Pause } from './agent-turn.ts'
import { act, failAsRecorded, toolsFailed } from './call/act.ts'
import type { AgentTools } from './call/agent-tools.ts'
import { breakCircuit } from './call/circuit.ts'
import { inputContext, inputContextOf, timeContext } from './context/input-context.ts'
import { isWatched, watched } from './hook/iteration-watch.ts'
import { needsPreparing, prepare } from './hook/prepare.ts'
import { hasNewResults, tellResults } from './hook/tool-after.ts'
import { Journal } from './journal.ts'
import { loadHistory } from './load.ts'
import { entryOf, type ReadInput, readInput, readValue } from './order/agent-input.ts'
import { historyFull, lengthWarnings } from './order/history-limit.ts'
import { goOnWithOrder, obey } from './order/orders.ts'
import { steered } from './order/steered.ts'
import { endAfterCall } from './reply/last-call.ts'
import { modelFailed } from './reply/model-failed.ts'
import { advanceToReply, advanceToRequest } from './run-states.ts'
import { think } from './think.ts'

/** Throws a ConfigError when the model or a tool of the definition cannot be used. */
export function agentBehaviour(definition: AgentDefinition, parts: AgentParts): Behaviour {
  const kinds = new ConfiguredKinds(openKind(definition, parts), parts)
  return async (turn) => {
    const known = await loadHistory(turn, parts.histories)
    await advance(new AgentTurn(kinds.of(turn.assignment), parts, new Journal(turn, known)))
  }
}

async function advance(agentTurn: AgentTurn): Promise<void> {
  const { turn, end, inbox, journal, parts } = agentTurn
  const hasOnCancel = agentTurn.kind.definition.onCancel !== undefined
  turn.whenCancelled((position) => cancelled(agentTurn, position), { waits: hasOnCancel })
  turn.unrecorded.countBy(() => journal.takeUsed())
  // Without a schema an input may not fit, either: an empty text.
  turn.steers.judgeBy((mail) => readInput(agentTurn, mail).ok)
  if (turn.assignment.purpose === 'cancelled') return turn.cancel()
  if (turn.assignment.purpose === 'poison') {
    end.quarantine(inbox.nextInput())
    return turn.end(forAny)
  }
  for (let steps = 0; !agentTurn.isOver; steps++) {
    const working = proceedOrFail(agentTurn, steps)
    if (hasOnCancel) agentTurn.working = working.catch(() => {})
    const wait = await working
    // A wait for results or answers that came beside an interruption does not begin.
    if (wait === null || (turn.steers.interrupts && waitsForMessages(wait))) {
      if (turn.isRetaken) await turn.settled()
      continue
    }
    if (!goesOnLater(agentTurn, wait)) agentTurn.compactor.drop()
    // If this turn did not wait for its summary, that would be paid for again. A turn that drains in the middle of a run does not wait.
    if (journal.position.open && turn.isDraining) agentTurn.compactor.handOn()
    else if (agentTurn.compactor.isPending) {
      turn.flush()
      if (waitsForMessages(wait)) await Promise.race([agentTurn.compactor.written, turn.steers.work.fired])
      if (turn.steers.interrupts && waitsForMessages(wait)) continue
      await agentTurn.compactor.finish()
      if (agentTurn.isOver) return
    }
    // The cache gets the history before the commit, because the answer of the commit may start this worker's next turn here.
    if (!isLast(agentTurn, wait)) parts.histories.give(turn.assignment.workerId, turn.outcome, journal.known)
    return turn.end(wait.for, wait.retryMs)
  }
}

function waitsForMessages({ for: { kind } }: Pause): boolean {
  return kind === 'results' || kind === 'signal'
}

/** A run that has not begun has nothing to undo. */
function cancelled(agentTurn: AgentTurn, position: RunPosition): Step | Promise<Step> {
  const { turn, end, kind, begunRun, working } = agentTurn
  const { onCancel, onCancelMs } = kind.definition
  if (onCancel === undefined || begunRun < position.run) return end.cancelledStep(position)
  const run = { turn, position, stateJson: null, definition: {}, isAgent: true, onCancel, onCancelMs, working }
  return lastStep(run, (said) => end.cancelledStep(position, { onCancel: said }))
}

/** False when a job or a child has ended its run: a summary of its conversation would hold the slot for nobody. */
function goesOnLater({ turn, journal }: AgentTurn, wait: Pause): boolean {
  const { isJob, parentId } = turn.assignment
  return journal.position.open || wait.for.kind !== 'any' || !(isJob || parentId !== null)
}

/** True when the root of a job has answered: its history is not needed again. If more input waits, the next turn reads the history anew. */
function isLast({ turn, journal }: AgentTurn, wait: Pause): boolean {
  return turn.assignment.isJob && !journal.position.open && wait.for.kind === 'any'
}

/** AGENT-4: an unforeseen error fails the run, because the next node would meet the same error. If Redis does not answer, the run goes on elsewhere. */
async function proceedOrFail(agentTurn: AgentTurn, steps: number): Promise<Pause | null> {
  try {
    return await proceed(agentTurn, steps)
  } catch (cause) {
    if (agentTurn.isOver) return null
    const { journal, end, turn, who } = agentTurn
    const reason = cause instanceof Error ? cause.message : String(cause)
    if (isOfStore(cause)) {
      journal.log.warn('Redis did not answer; the worker goes on elsewhere when its lease has ended', { error: reason })
      turn.abandon('unreachable')
      return null
    }
    const error = new InvariantError(`the turn of ${who} met an unexpected error: ${reason}`, { cause })
    journal.log.error('a turn met an unexpected error', {
      error: reason,
      stack: stackOf(cause)?.slice(0, stackCharsMax),
    })
    if (!journal.position.open) throw error
    journal.machine.apply('quarantined')
    end.fail(error, 'runtime', 1)
    return null
  }
}

function isOfStore(thrown: unknown): boolean {
  const { code } = toRuntimeError(thrown)
  return code === 'store_unavailable' || code === 'store_refused'
}

/** Does one thing more. Returns null when the turn goes on, or what the worker waits for when the turn ends. */
function proceed(agentTurn: AgentTurn, steps: number): Promise<Pause | null> | Pause | null {
  if (!agentTurn.journal.position.open) return receive(agentTurn, steps)
  if (failAsRecorded(agentTurn)) return null
  if (sliceIsOver(agentTurn, steps)) return { for: goOn }
  const { tools } = agentTurn
  return tools === undefined ? openTools(agentTurn) : iterateWith(agentTurn, tools)
}

function iterateWith(agentTurn: AgentTurn, tools: AgentTools): Promise<Pause | null> | null {
  if (refuseInputAgain(agentTurn)) return null
  if (agentTurn.turn.steers.isWaiting) return steeredIteration(agentTurn, tools)
  return iterateNow(agentTurn, tools)
}

/** What steers the run comes first. A message that waits for the results of open calls stays waiting until they are there. */
async function steeredIteration(agentTurn: AgentTurn, tools: AgentTools): Promise<Pause | null> {
  const pause = await steered(agentTurn)
  return pause === undefined ? iterateNow(agentTurn, tools) : pause
}

function iterateNow(agentTurn: AgentTurn, tools: AgentTools): Promise<Pause | null> | null {
  const doing = agentTurn.journal.container.history.openCount > 0 ? act : think
  if (doing === think && needsPreparing(agentTurn)) return prepare(agentTurn)
  if (doing === think && (breakCircuit(agentTurn) || endAfterCall(agentTurn, tools))) return null
  if (doing === think && hasNewResults(agentTurn)) return tellResults(agentTurn)
  return isWatched(agentTurn) ? watched(agentTurn, tools, doing) : doing(agentTurn, tools)
}

/**
 * The source of the tools may be slow, or fail. It is asked within the run: a cancel or a quarantine needs no tools, and a failure is one of
 * this attempt.
 */
async function openTools(agentTurn: AgentTurn): Promise<Pause | null> {
  let tools: AgentTools
  try {
    tools = await agentTurn.kind.toolbox.open(agentTurn.turn)
  } catch (thrown) {
    return agentTurn.isOver ? null : withoutTools(agentTurn, thrown)
  }
  agentTurn.tools = tools
  return agentTurn.isOver ? null : iterateWith(agentTurn, tools)
}

/** The attempt that fails is that of the calls that are open, or else of the next model call. */
function withoutTools(agentTurn: AgentTurn, thrown: unknown): Pause | null {
  const { journal, who } = agentTurn
  const cause = toRuntimeError(thrown)
  const what = `the tools of ${who} could not be loaded: ${cause.message}`
  const error = cause.retryable ? new TransientError(what, { cause }) : new TerminalError(what, { cause })
  if (journal.container.history.openCount > 0) return toolsFailed(agentTurn, error)
  advanceToRequest(journal.machine)
  advanceToReply(journal.machine)
  return modelFailed(agentTurn, error)
}

/** A model call and the tools it asked for count as two steps. A run goes on beyond its slice while a summary of its conversation is written. */
function sliceIsOver({ turn, compactor, journal }: AgentTurn, steps: number): boolean {
  if (compactor.isPending && journal.position.open && !turn.isDraining) return !turn.isOpen
  // To read a long history may take as long as a turn may last: the next turn would come no further.
  if (steps === 0 && turn.isOpen && !turn.isDraining) return false
  return !mayGoOn(turn, steps, 2 * turn.host.policy.turnSliceSteps)
}

function receive(agentTurn: AgentTurn, steps: number): Promise<Pause | null> | Pause | null {
  const { inbox, turn } = agentTurn
  const owed = goOnWithOrder(agentTurn)
  if (owed !== null) return owed
  const mail = inbox.nextInput()
  if (mail === null) return { for: forAny }
  if (sliceIsOver(agentTurn, steps)) return { for: goOn }
  if (mail.order !== undefined) return obey(agentTurn, mail, mail.order)
  if (!turn.gate.mayBegin) return { for: goOn }
  // The end of the run before is sent now: it must not wait until this run has its first reply.
  turn.flush()
  const asked = inputContextOf(agentTurn.kind.definition.context)
  return asked === null ? begin(agentTurn, mail) : beginWith(agentTurn, mail, asked)
}

async function beginWith(agentTurn: AgentTurn, mail: Mail, asked: ContextSettings): Promise<null> {
  const context = await inputContext(agentTurn, asked)
  return agentTurn.isOver ? null : begin(agentTurn, mail, context)
}

/** `context`: what goes with the input. */
function begin(agentTurn: AgentTurn, mail: Mail, context?: string): null {
  const { inbox, journal, end, turn } = agentTurn
  agentTurn.begunRun = journal.position.run
  const { machine } = journal
  machine.apply('inputReceived')
  journal.tally = { ...journal.tally, iterations: 0 }
  const full = turn.gate.problem ?? historyFull(agentTurn)
  const input: ReadInput = full === null ? readInput(agentTurn, mail) : { ok: false, problem: full }
  // A message to a conversation that is full is received, but does not become a message of it.
  const said =
    full === null ? entryOf(mail, journal, input, 0, context) : journal.entry('received', { message: mail.message })
  const entries = [said]
  const merged = input.ok ? mergedInputs(agentTurn) : []
  const notes: EventNote[] = [['run.started'], ...lengthWarnings(agentTurn)]
  if (!input.ok) {
    machine.apply('limitReached')
    end.fail(input.problem, 'runtime', 1, { entries, parts: { inputsConsumed: 1, notes } })
  } else {
    machine.apply('requestSent')
    const position = { open: true, attempt: 0, retrying: '' }
    const time = timeContext(agentTurn.kind.definition.context)
    for (const one of merged) entries.push(entryOf(one, journal, readInput(agentTurn, one), entries.length, time))
    const inputsConsumed = entries.length
    journal.add(entries, { inputsConsumed, failure: null, position, notes }, { lazy: true })
  }
  for (const one of [mail, ...merged]) inbox.take(one)
  turn.steers.begin(merged.at(-1) ?? mail)
  return null
}

/** The inputs behind the first one that the run begins with as well, up to an order or one that does not fit. None if processors look at each input. */
function mergedInputs(agentTurn: AgentTurn): readonly Mail[] {
  const { inbox, kind } = agentTurn
  const { mergeInput, hooks } = kind.definition
  if (!mergeInput || processorsOf(hooks?.prompt).length > 0) return []
  const behind = inbox.inputs.slice(1)
  const end = behind.findIndex((mail) => mail.order !== undefined || !readInput(agentTurn, mail).ok)
  return end < 0 ? behind : behind.slice(0, end)
}

/** A run that failed because its input does not fit the schema of its kind was retried: does the input fit now? */
function refuseInputAgain({ kind, journal, turn, end }: AgentTurn): boolean {
  const { run, input } = journal.container
  if (run.retriedAfter !== 'input_invalid' || run.iterations > 0) return false
  const read = readValue(kind.definition, turn.assignment.kind, input)
  if (read.ok) return false
  journal.machine.apply('limitReached')
  end.fail(read.problem, 'runtime', 1)
  return true
}
