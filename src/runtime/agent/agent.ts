/**
 * Duty: the behaviour of agent workers: input, model call, tool calls, until the model has answered.
 * G1 What happens next is a function of what is recorded: a turn that another node began is taken up where its last commit left it.
 * G2 No model call, and no effect of a tool, before the reply it follows from is acknowledged.
 * G3 Every wait is an ending commit that names it: a retry's timer, the results of children. G4 No throw leaves the loop.
 */

import { fitTo } from '../../core/check/schema-problems.ts'
import type { AgentDefinition } from '../../core/definition/define-worker.ts'
import { InputError, InvariantError } from '../../core/errors.ts'
import type { Mail } from '../../core/worker/message.ts'
import type { Behaviour } from '../node/kind.ts'
import { mayGoOn } from '../turn/permit.ts'
import { act, breakCircuit, failAsRecorded } from './call/act.ts'
import { AgentTools } from './call/agent-tools.ts'
import { type EntryFacts, Journal } from './journal.ts'
import { loadHistory } from './load.ts'
import { type AgentKind, type AgentParts, Scene, type Wait } from './scene.ts'
import { think } from './think.ts'
import { userEntry } from './user-message.ts'

/** Throws a ConfigError when its model or a tool cannot be used. */
export function agentBehaviour(definition: AgentDefinition, parts: AgentParts): Behaviour {
  const kind: AgentKind = { definition, model: parts.models.open(definition.model), tools: new AgentTools(definition) }
  return async (turn) => {
    const known = await loadHistory(turn, parts.histories)
    await advance(new Scene(kind, parts, new Journal(turn, known)))
  }
}

async function advance(scene: Scene): Promise<void> {
  const { turn, end, inbox, journal, parts } = scene
  turn.whenCancelled((position) => end.cancelledStep(position))
  if (turn.grant.mark === 'cancelled') return turn.cancel()
  if (turn.grant.mark === 'poison') {
    end.quarantine(inbox.nextInput())
    return turn.end('any')
  }
  for (let steps = 0; !scene.isOver; steps++) {
    const wait = await proceedOrFail(scene, steps)
    if (wait === null) {
      if (turn.isRetaken) await turn.settled()
      continue
    }
    // Given back before the commit: its answer may bring this very worker's next turn.
    if (!isLast(scene, wait)) parts.histories.give(turn.grant.workerId, turn.outcome, journal.known)
    return turn.end(wait.for, wait.retryMs)
  }
}

/** The root of a job has answered: what it knows is not needed again, unless it had more input, and is then read anew. */
function isLast({ turn, journal }: Scene, wait: Wait): boolean {
  return turn.grant.isJob && !journal.position.open && wait.for === 'any'
}

/** G4: what nobody foresaw fails the run, and the worker lives on; the next node would meet it again. */
async function proceedOrFail(scene: Scene, steps: number): Promise<Wait | null> {
  try {
    return await proceed(scene, steps)
  } catch (cause) {
    if (scene.isOver) return null
    const { journal, end, who } = scene
    const reason = cause instanceof Error ? cause.message : String(cause)
    const error = new InvariantError(`the turn of ${who} broke: ${reason}`, { cause })
    journal.log.error('a turn broke', { error: (cause instanceof Error && cause.stack) || reason })
    if (!journal.position.open) throw error
    journal.machine.apply('quarantined')
    end.fail(error, 'runtime', 1)
    return null
  }
}

/** One thing more: null to go on, or what the turn ends with. */
function proceed(scene: Scene, steps: number): Promise<Wait | null> | Wait | null {
  const { container, position } = scene.journal
  if (!position.open) return receive(scene, steps)
  if (failAsRecorded(scene)) return null
  if (sliceIsOver(scene, steps)) return { for: 'again' }
  if (container.history.openCount > 0) return act(scene)
  return breakCircuit(scene) ? null : think(scene)
}

/** A model call and its tools are two steps. */
function sliceIsOver({ turn }: Scene, steps: number): boolean {
  return !mayGoOn(turn, steps, 2 * turn.host.policy.turnSliceSteps)
}

function receive(scene: Scene, steps: number): Wait | null {
  const { inbox, journal, turn, end } = scene
  const mail = inbox.nextInput()
  if (mail === null) return { for: 'any' }
  if (sliceIsOver(scene, steps)) return { for: 'again' }
  // What ended the run before does not wait for this run's first reply.
  turn.flush()
  const { machine } = journal
  machine.apply('inputReceived')
  journal.tally = { ...journal.tally, iterations: 0 }
  const problem = inputProblem(scene, mail)
  const entries = [entryOf(mail, journal.nextId())]
  if (problem) {
    machine.apply('limitReached')
    end.fail(problem, 'runtime', 1, { entries, parts: { userUsed: 1, notes: [['run.started']] } })
  } else {
    machine.apply('requestSent')
    const position = { open: true, attempt: 0, retrying: '' }
    journal.add(entries, { userUsed: 1, failure: null, position, notes: [['run.started']] }, { lazy: true })
  }
  inbox.take(mail)
  return null
}

function entryOf({ message }: Mail, id: string): EntryFacts {
  return message.kind === 'input' ? userEntry(id, message) : { type: 'received', message }
}

function inputProblem({ turn, kind }: Scene, { message, malformed }: Mail): InputError | null {
  const { grant } = turn
  if (malformed !== undefined) {
    return new InputError(`message ${message.id} of worker ${grant.workerId} cannot be read: ${malformed}`)
  }
  const { input } = kind.definition
  const fit = input && fitTo(input, message.kind === 'input' ? message.value : null)
  if (fit === undefined || fit.ok) return null
  return new InputError(`the input of ${grant.kind} does not fit its schema: ${fit.reasons.join('; ')}`)
}
