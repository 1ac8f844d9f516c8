/**
 * Duty: run the turns of handler workers: one message, one receive, one step.
 * Does not own: which message is next (handler-inbox.ts), what a handler may ask for (handler-self.ts), the commits (runtime/turn).
 * HANDLER-1 Every way in which a receive can return is matched in one place (`stepOf`): a reply, a failure, a wait, an end without a
 *           result. An error that it throws is retried, or fails the run, where receive is called.
 * HANDLER-2 What a receive asked for is recorded whole or not at all. A receive that throws records only its failure.
 * HANDLER-3 The next receive sees the state of the step before it, even if the commit of that step is still on its way.
 * HANDLER-4 A message is recorded as it was accepted. A schema may change what `receive` gets, but not what is recorded.
 * HANDLER-5 What receive gets is read-only at every depth. A change in place, which no commit would record, fails the run.
 * HANDLER-6 A run whose result is null because nobody set it warns in log and event, if somebody waits for the result.
 */

import { setImmediate } from 'node:timers/promises'
import { thrownFields } from '../../core/code-place.ts'
import { limitsWithin } from '../../core/definition/child-limits.ts'
import type { HandlerDefinition, Self } from '../../core/definition/define-worker.ts'
import { fitInput } from '../../core/definition/kind-types.ts'
import { backOffOf } from '../../core/definition/retry-settings.ts'
import {
  ConflictError,
  InputError,
  type RuntimeError,
  TerminalError,
  TransientError,
  toRuntimeError,
} from '../../core/errors.ts'
import type { EventNote } from '../../core/event/event.ts'
import { completedEntry, entryJson, receivedEntry } from '../../core/history/entry.ts'
import { childIds } from '../../core/ids.ts'
import { retryWaitMs } from '../../core/policy.ts'
import type { Assignment, RunPosition } from '../../core/ports/ports.ts'
import { isRefusedWrite, readOnly } from '../../core/read-only.ts'
import type { Mail, Message } from '../../core/worker/message/message.ts'
import { cutMessage, type FailureOrigin, toFailure } from '../../core/worker/run/failure.ts'
import { afterRun, completedNote, endingOf } from '../../core/worker/run-ends.ts'
import { forAny, forRetry, goOn } from '../../core/worker/wait.ts'
import type { Behaviour } from '../turn/behaviour.ts'
import { mayGoOn, mayRecord } from '../turn/permit.ts'
import { evidenceJson, quarantined } from '../turn/quarantine.ts'
import { changesOnlyItself, emptyStep, type Step } from '../turn/step/step.ts'
import type { CancelledStep, Turn } from '../turn/turn.ts'
import type { FitsKind } from '../turn/turn-steers.ts'
import { watchLoop } from '../user-code/event-loop.ts'
import { attemptsOf, withAttempts, withoutAttempts } from './attempts.ts'
import { cancelRun } from './cancelled-run.ts'
import { HandlerInbox } from './handler-inbox.ts'
import { resultWithoutReply } from './handler-result.ts'
import { HandlerSelf, type SelfContext } from './handler-self.ts'
import { HandlerState } from './handler-state.ts'
import { consumed, interruptedStep, isInterrupted, isSteer, judgeInputs } from './handler-steers.ts'
import { HandlerSteps } from './handler-steps.ts'
import { type ReceiveTimeout, timeoutOf } from './receive-timeout.ts'
import {
  nameOfMail,
  openBeside,
  pendingAfter,
  type RecordedMail,
  receivedNote,
  toRecord,
  workOn,
} from './recorded-mail.ts'
import { awaitedIn, namedInEntry, notesOf, type Requests } from './requests.ts'

export function handlerBehaviour(definition: HandlerDefinition): Behaviour {
  return (turn) => new HandlerTurn(turn, definition).advance()
}

/** An attempt failed. The turn ends with this step, and the same message is received again after `retryMs`. */
interface RetryStep extends Step {
  readonly retryMs: number
}

class HandlerTurn {
  readonly #turn: Turn
  readonly #definition: HandlerDefinition
  readonly #inbox: HandlerInbox
  readonly #state: HandlerState
  readonly #steps: HandlerSteps
  readonly #fits: FitsKind
  /** Warnings of calls that came too late: the next step of this turn records them. */
  readonly #warnings: EventNote[] = []
  /** The receive that runs now, or the last one. */
  #receiving: Promise<Step | RetryStep> | undefined
  #begunRun: number

  constructor(turn: Turn, definition: HandlerDefinition) {
    this.#turn = turn
    this.#definition = definition
    this.#inbox = new HandlerInbox(turn.assignment, definition.await)
    this.#state = new HandlerState(turn.assignment, definition)
    this.#steps = new HandlerSteps(turn)
    this.#fits = judgeInputs(turn, definition)
    const { open, run, begunRun } = turn.assignment
    this.#begunRun = open ? run : begunRun
  }

  get #begun() {
    return { turn: this.#turn, definition: this.#definition, begunRun: this.#begunRun, working: this.#receiving }
  }

  async advance(): Promise<void> {
    const turn = this.#turn
    const end: CancelledStep = (position, stateJson) => cancelRun(this.#begun, position, stateJson)
    turn.whenCancelled(end, { waits: this.#definition.onCancel !== undefined })
    if (turn.assignment.purpose === 'cancelled') return turn.cancel()
    if (turn.assignment.purpose === 'poison') return this.#quarantine()
    // While it receives, this is its state, even if open children gave its run the state of tools that run.
    turn.report('ProcessingUserMessage')
    for (let steps = 0; !turn.over; ) {
      const position = turn.position
      if (turn.steers.isWaiting && position.open) {
        this.#inbox.steer(await turn.steers.read(this.#fits))
        if (!mayRecord(turn)) return
      }
      const mail = this.#inbox.next(position)
      if (mail === null) return turn.end(this.#inbox.wait(position))
      if (!mayGoOn(turn, steps, turn.host.policy.turnSliceSteps)) return turn.end(goOn)
      this.#begunRun = position.run
      // It is taken before it is received: it must not interrupt its own receive.
      if (isSteer(mail)) turn.steers.take(mail)
      this.#receiving = this.#receive(mail, position)
      const step = await this.#receiving
      // If the turn was cancelled or given up during receive, it must not receive the next message.
      if (!mayRecord(turn)) return
      if ('retryMs' in step) {
        turn.add(step)
        return turn.end(forRetry, step.retryMs)
      }
      this.#inbox.take(mail)
      if (step.outcome !== undefined) this.#inbox.dropRun()
      // If only this worker sees the step, its commit may wait for the next message, which is already here, and go out with its step.
      turn.add(step, { lazy: changesOnlyItself(step) && this.#inbox.next(step.position) !== null })
      if (turn.isRetaken) await turn.settled()
      if (!this.#inbox.isOfAll(mail)) steps++
      else if (this.#inbox.takenOfAll % 20 === 0) await setImmediate() // Other turns of the node go on in between.
    }
  }

  async #receive(accepted: Mail, position: RunPosition): Promise<Step | RetryStep> {
    const mail = toRecord(accepted)
    const { assignment, host } = this.#turn
    const attempt = attemptsOf(nameOfMail(mail), position) + 1
    const timeout = timeoutOf(this.#definition, this.#turn)
    let self: HandlerSelf | undefined
    try {
      this.#checkMail(mail, position)
      self = new HandlerSelf(this.#context(mail, position, attempt, timeout))
      const message = readOnly(mail.message) as Message<never>
      const receive = () => this.#definition.receive(message, self as unknown as Self<never>)
      let returned: unknown = watchLoop(receive, 'receive', host.policy.renewEveryMs, self.log)
      if (isAwaitable(returned))
        returned = await (timeout.expired ? Promise.race([returned, timeout.expired]) : returned)
      self.close()
      return this.#stepOf(mail, self, this.#turn.position, attempt, returned)
    } catch (thrown) {
      const hasReturned = self?.close({ isLate: timeout.reason !== undefined }) === false
      if (!hasReturned && timeout.reason === undefined && (await isInterrupted(this.#turn, this.#fits)))
        return interruptedStep(this.#turn, mail, this.#receivedNotes(mail, this.#turn.position))
      const error = errorOf(timeout.reason ?? thrown)
      const { retry, retries = retry?.most ?? host.policy.retries } = this.#definition
      const attempts = error.retryable ? retries + 1 : attempt
      host.workerLog(assignment, position.run).warn('receive failed', {
        attempt,
        of: attempts,
        error: cutMessage(error.message),
        ...thrownFields(thrown),
      })
      if (attempt < attempts) return this.#retryStep(mail, error, this.#turn.position, attempt)
      return this.#failedStep(mail, error, position, attempt)
    } finally {
      timeout.clear()
    }
  }

  #checkMail(mail: Mail, position: RunPosition): void {
    const { problem } = this.#turn.gate
    if (problem !== undefined && !position.open) throw problem
    if (mail.malformed !== undefined && mail.message.kind !== 'result') {
      throw new InputError(
        `message ${mail.message.id} of worker ${this.#turn.assignment.workerId} cannot be read: ${mail.malformed}`,
      )
    }
    if (mail.message.kind === 'answer' && mail.message.fails !== undefined)
      throw new ConflictError('ask_expired', mail.message.fails)
    if (this.#definition.input === undefined || mail.message.kind !== 'input') return
    const fit = fitInput(this.#definition, this.#turn.assignment.kind, mail.message.value)
    if (!fit.ok) throw fit.problem
    Object.assign(mail.message, { value: fit.value })
  }

  #context(mail: Mail, position: RunPosition, attempt: number, timeout: ReceiveTimeout): SelfContext {
    const { assignment, host } = this.#turn
    // If self outlives this receive, it goes on to read the state that this receive had.
    const { json: stateBefore } = this.#state
    return {
      assignment,
      run: position.run,
      attempt,
      calls: position.calls,
      ...openBeside(mail, position),
      readState: (json) => this.#state.read(json ?? stateBefore),
      definition: this.#definition,
      limits: limitsWithin(assignment.limits, this.#definition),
      spending: this.#turn.session.spending.allowed,
      signal: () => timeout.signal,
      log: host.workerLog(assignment, position.run),
      message: mail.message,
      blobs: host.blobs,
      steps: this.#steps,
      onLateCall: (error) => this.#warnOfLateCall(error, position.run),
      poolOf: (kind) => host.poolOf(kind),
    }
  }

  // HANDLER-1: all outcomes of a receive that did not throw.
  #stepOf(mail: RecordedMail, self: HandlerSelf, position: RunPosition, attempt: number, returned: unknown): Step {
    const { requests } = self
    if (requests.failure !== undefined) return this.#failedStep(mail, requests.failure, position, attempt)
    const pendingCalls = [...pendingAfter(mail, position), ...awaitedIn(requests)]
    const signalsOpen = openBeside(mail, position).signalsOpen + requests.timers.length + requests.asks.length
    const ends = requests.replyJson !== undefined || (pendingCalls.length === 0 && signalsOpen === 0)
    const { kind } = this.#turn.assignment
    // Before anything changes: it throws if the run may not end without a reply.
    const valueJson = ends ? (requests.replyJson ?? resultWithoutReply(this.#definition, kind)) : null
    const at = Date.now()
    const step = this.#requestedStep(mail, requests, position, attempt, at)
    if (valueJson !== null) {
      if (requests.replyJson === undefined) step.notes.push(...this.#warnOfNoReply(position.run, returned))
      return this.#completedStep(step, position, pendingCalls, valueJson, at)
    }
    const goesOn = {
      ...withoutAttempts(nameOfMail(mail), position),
      run: position.run,
      calls: position.calls + requests.spawns.length,
      runState: runStateOf(pendingCalls),
      open: true,
      pendingCalls,
      signalsOpen,
      steps: position.steps,
    }
    return { ...step, position: goesOn }
  }

  /** What is recorded of a receive, whether its run goes on or ends. */
  #requestedStep(mail: RecordedMail, requests: Requests, position: RunPosition, attempt: number, at: number) {
    const notes = [...this.#receivedNotes(mail, position), ...notesOf(requests, this.#turn.assignment.workerId)]
    this.#state.set(requests.stateJson)
    return {
      ...consumed(mail),
      entries: [this.#receivedEntry(mail, position.run, at, requests)],
      stateJson: requests.stateJson,
      failure: position.open && attemptsOf(nameOfMail(mail), position) === 0 ? undefined : null,
      spawns: requests.spawns,
      childrenAtOnce: awaitedIn(requests).length > 0 ? this.#definition.childrenAtOnce : undefined,
      sends: requests.sends,
      timers: requests.timers,
      asks: requests.asks,
      withdraws: [],
      notes,
      ifRefused: (error: RuntimeError) => this.#failedStep(mail, error, position, attempt),
    }
  }

  /** `pendingCalls`: the calls whose results nobody receives any more. */
  #completedStep(
    step: Omit<Step, 'position'>,
    { run, open, attempt }: RunPosition,
    pendingCalls: readonly number[],
    valueJson: string,
    at: number,
  ): Step {
    const { assignment } = this.#turn
    return {
      ...step,
      entries: [...step.entries, completedEntry(run, assignment.epoch, at, valueJson)],
      notes: [...step.notes, completedNote(assignment, run, valueJson)],
      ...endingOf(assignment, run, { status: 'completed', valueJson }),
      openChildren: childIds(assignment.workerId, run, pendingCalls),
      // The failure of another message that waits for its retry is cleared too, because the run ends and it will not be retried.
      failure: open && attempt === 0 ? undefined : null,
      position: afterRun(run),
    }
  }

  #failedStep(
    mail: RecordedMail | null,
    error: RuntimeError,
    position: RunPosition,
    attempt: number,
    origin: FailureOrigin = 'handler',
  ): Step {
    const at = Date.now()
    const { assignment } = this.#turn
    const { run } = position
    const failure = toFailure(error, origin, attempt, at)
    const entries = [entryJson('failed', run, assignment.epoch, at, { failure })]
    if (mail) entries.unshift(this.#receivedEntry(mail, run, at))
    return {
      ...emptyStep({ ...afterRun(run), runState: 'Failed' }),
      ...(mail ? consumed(mail) : {}),
      entries,
      failure,
      ...endingOf(assignment, run, { status: 'failed', failure }),
      // If the message is a result, this step receives it, although receive failed. It is no longer awaited.
      openChildren: childIds(assignment.workerId, run, pendingAfter(mail, position)),
      notes: [...(mail ? this.#receivedNotes(mail, position) : []), ['worker.failed', { run, failure }]],
    }
  }

  #retryStep(mail: RecordedMail, error: RuntimeError, position: RunPosition, attempt: number): RetryStep {
    const at = Date.now()
    const failure = toFailure(error, 'handler', attempt, at)
    const asked = error instanceof TransientError ? error.retryAfterMs : undefined
    const { retryBackoffMs: baseMs, retryBackoffMsMax: capMs } = this.#turn.host.policy
    const backOff = backOffOf(this.#definition.retry ?? {}, { baseMs, capMs })
    const retryMs = retryWaitMs(asked, attempt, Math.random(), backOff)
    return {
      ...emptyStep({ ...position, runState: 'TransientFailure', ...withAttempts(nameOfMail(mail), attempt, position) }),
      entries: [entryJson('attemptFailed', position.run, this.#turn.assignment.epoch, at, { failure, retryMs })],
      failure,
      notes: [['turn.retried', { run: position.run, attempt, retryMs, failure, ...workOn(mail) }]],
      retryMs,
    }
  }

  // The worker had several isolated starts and never committed. Its next message goes to the dead letters with the evidence.
  async #quarantine(): Promise<void> {
    const { assignment } = this.#turn
    const position = this.#turn.position
    const mail = this.#inbox.next(position)
    const next = mail ? `message ${mail.message.id} (${mail.message.kind})` : 'no message'
    const error = quarantined(assignment, next)
    const step = this.#failedStep(mail && toRecord(mail), error, position, position.attempt + 1, 'runtime')
    const toDead = mail?.lane === 'inbox'
    this.#turn.add({
      ...step,
      entries: toDead ? step.entries.slice(1) : step.entries,
      dead: evidenceJson(assignment, position, next, step.failure ?? undefined),
      notes: toDead ? [...step.notes, ['message.deadLettered', { id: mail.message.id }]] : step.notes,
    })
    return this.#turn.end(forAny)
  }

  #receivedEntry({ json }: RecordedMail, run: number, at: number, requests?: Requests): string {
    return receivedEntry(run, this.#turn.assignment.epoch, at, json, requests ? namedInEntry(requests) : {})
  }

  /** Nobody is warned of a result for which nobody waits. */
  #warnOfNoReply(run: number, returned: unknown): EventNote[] {
    const { assignment, host } = this.#turn
    if (!isAwaited(assignment, run)) return []
    const warning =
      returned === undefined
        ? 'receive returned without a reply, with no child or timer open, so the result is null: call self.reply(value) to set it'
        : 'receive returned a value and did not reply, so the result is null: call self.reply(value) to set it'
    const { sessionId, workerId, kind } = assignment
    host.log.warn(warning, { session: sessionId, worker: workerId, kind, run })
    return [['run.warned', { run, warning }]]
  }

  #warnOfLateCall({ message, stack }: Error, run: number): void {
    const { assignment, host, isOpen, live } = this.#turn
    const { name, workerId, sessionId } = assignment
    const who = `worker ${name} (${workerId}) of session ${sessionId}`
    host.workerLog(assignment, run).error(`${who}: ${message}`, { stack })
    const details = { run, warning: message }
    if (isOpen) this.#warnings.push(['run.warned', details])
    else live.tell([['run.warned', details]])
  }

  #receivedNotes(mail: RecordedMail, { open }: RunPosition): EventNote[] {
    const [note, warnings] = [receivedNote(mail, open), this.#warnings.splice(0)]
    return open ? [...warnings, note] : [note, ...warnings]
  }
}

/** Whoever changes a state or a message in place would do so at each attempt: no retry can mend it. */
function errorOf(thrown: unknown): RuntimeError {
  if (!isRefusedWrite(thrown)) return toRuntimeError(thrown)
  const advice = 'self.state and messages are read-only. Call self.setState with a changed copy'
  return new TerminalError(`${thrown.message}: ${advice}, like { ...self.state, count: 1 }.`, { cause: thrown })
}

/** True for anything with a `then`. For example, a database query may start only when it is awaited. */
function isAwaitable(value: unknown): value is PromiseLike<unknown> {
  return value != null && typeof (value as { then?: unknown }).then === 'function'
}

/** Somebody waits for the result of this run: a client, or the parent's call. */
function isAwaited({ parentId, call }: Assignment, run: number): boolean {
  return parentId === null || (call !== null && run === 1)
}

/** A handler that waits for children has the state of an agent whose tools run. One that waits only for timers still works on its message. */
function runStateOf(pendingCalls: readonly number[]): RunPosition['runState'] {
  return pendingCalls.length > 0 ? 'ExecutingTools' : 'ProcessingUserMessage'
}
