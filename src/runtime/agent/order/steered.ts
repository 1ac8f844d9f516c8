/**
 * Duty: bring the inputs that steer a run of an agent into its conversation, and end what one of them interrupts.
 * STEERED-1 An input is never recorded between calls and their results: it comes when the last result is there, or in the step that answers the calls which
 *           it interrupts.
 * STEERED-2 The step that interrupts calls also cancels the children that they wait for, and withdraws what they asked. It is refused if one of
 *           these asks was answered in the meantime; then the worker takes that answer first.
 * STEERED-3 A run that would have ended with a reply goes on if something steers it and it may make another model call.
 */
import type { EventNote } from '../../../core/event/event.ts'
import type { Entry } from '../../../core/history/entry.ts'
import { interruptedText, lastResult } from '../../../core/history/run/open-calls.ts'
import type { Mail } from '../../../core/worker/message/message.ts'
import { goOn } from '../../../core/worker/wait.ts'
import type { AgentTurn, Pause } from '../agent-turn.ts'
import { takeAnswers } from '../call/person/asked-calls.ts'
import { timeContext } from '../context/input-context.ts'
import { openCallsOf, type StepParts } from '../journal.ts'
import { entryOf, readInput } from './agent-input.ts'

/** What is recorded in the same step, before the inputs. */
interface Before {
  readonly entries: readonly Entry[]
  readonly parts: StepParts
}

/** The inputs that wait and fit the kind. */
export function readSteers(agentTurn: AgentTurn): Promise<readonly Mail[]> {
  return agentTurn.turn.steers.read((mail) => readInput(agentTurn, mail).ok)
}

/** Undefined: nothing is recorded now, and the iteration goes on. */
export async function steered(agentTurn: AgentTurn): Promise<Pause | null | undefined> {
  const { turn, journal } = agentTurn
  const mails = await readSteers(agentTurn)
  if (agentTurn.isOver) return null
  if (mails.length === 0) return undefined
  if (journal.container.history.openCount > 0)
    return turn.steers.interrupts ? interruptCalls(agentTurn, mails) : undefined
  recordSteers(agentTurn, mails)
  return null
}

/** `before`: a reply that would have ended the run. */
export function recordSteers(agentTurn: AgentTurn, mails: readonly Mail[], before?: Before): void {
  const { journal } = agentTurn
  if (before) journal.machine.apply('steered')
  const { entries, parts } = withInputs(agentTurn, mails, before ?? { entries: [], parts: {} })
  journal.add(entries, parts)
  taken(agentTurn, mails)
}

async function interruptCalls(agentTurn: AgentTurn, mails: readonly Mail[]): Promise<Pause | null> {
  if (!takeAnswers(agentTurn)) return null
  const { journal, turn } = agentTurn
  await turn.settled()
  if (agentTurn.isOver || journal.container.history.openCount === 0) return null
  const { container, position, machine } = journal
  const results = openCallsOf(container).map((call, index) => {
    const reported = journal.reportedOutcome(call.toolCallId)
    const isAsked = container.pending.approvals.get(call.toolCallId)?.status === 'pending'
    const result = lastResult(call, journal.nextId(index), reported, interruptedText)
    return journal.entry('toolResult', { ...result, ...(isAsked && { approval: 'pending' }) })
  })
  const withdraws = openAsks(agentTurn)
  const isRetried = machine.state === 'TransientFailure'
  const step = withInputs(agentTurn, mails, {
    entries: results,
    parts: {
      withdraws,
      cancels: awaitedChildren(agentTurn),
      failure: position.attempt > 0 ? null : undefined,
      position: {
        attempt: 0,
        retrying: '',
        signalsOpen: Math.max(0, position.signalsOpen - withdraws.length),
        runState: isRetried ? machine.state : 'GeneratingResponse',
      },
    },
  })
  const refusal = await journal.propose(step.entries, step.parts)
  if (agentTurn.isOver) return null
  if (refusal) return { for: goOn }
  if (!isRetried) machine.apply('steered')
  taken(agentTurn, mails)
  return null
}

function withInputs(agentTurn: AgentTurn, mails: readonly Mail[], { entries, parts }: Before): Before {
  const { journal, kind } = agentTurn
  const context = timeContext(kind.definition.context)
  const inputs = mails.map((mail, index) =>
    entryOf(mail, journal, readInput(agentTurn, mail), entries.length + index, context),
  )
  const notes = mails.flatMap(({ message }): EventNote[] =>
    message.kind === 'input'
      ? [['message.consumed', { kind: 'input', ...(message.when && { when: message.when }) }]]
      : [],
  )
  return {
    entries: [...entries, ...inputs],
    parts: {
      ...parts,
      steersTaken: mails.map(({ position }) => position),
      notes: [...(parts.notes ?? []), ...notes],
    },
  }
}

function taken({ turn, inbox }: AgentTurn, mails: readonly Mail[]): void {
  for (const mail of mails) {
    turn.steers.take(mail)
    inbox.take(mail)
  }
}

/** The asks that open calls wait for. */
function openAsks({ journal }: AgentTurn): readonly string[] {
  const { asked, approvals, calls } = journal.container.pending
  const own = calls.flatMap(({ toolCallId }) => (asked.get(toolCallId) ?? []).map(({ id }) => id))
  return [...own, ...approvals.open.flatMap(({ askId }) => askId ?? [])]
}

/** The children that open calls wait for. */
function awaitedChildren({ journal }: AgentTurn): readonly string[] {
  const { delegated, childResults, calls } = journal.container.pending
  const spawned = calls.flatMap(({ toolCallId }) => delegated.get(toolCallId) ?? [])
  return spawned.filter(({ call, detached }) => !detached && !childResults.has(call)).map(({ id }) => id)
}
