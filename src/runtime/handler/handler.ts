/**
 * Duty: the behaviour of handler workers: one message, one receive, one step.
 * R1 Every way a receive can return is matched in one place (`stepOf`): reply, fail, parked, ended without a result. What it throws is
 *    retried, or fails the run, where it is called.
 * R2 What a receive asked for is recorded whole or not at all; a receive that throws records only its failure.
 * R3 The next receive sees the state of the step before it, also of one whose commit is on its way.
 * R4 A message is recorded as it was accepted, whatever a schema or `receive` makes of what it is handed.
 */

import { fitTo } from '../../core/check/schema-problems.ts'
import type { HandlerDefinition, Self } from '../../core/definition/define-worker.ts'
import { CancelledError, InputError, RuntimeError, TransientError, toRuntimeError } from '../../core/errors.ts'
import type { EventNote } from '../../core/event/event.ts'
import { completedEntry, entryJson, type ReceivedEntry, receivedEntry } from '../../core/history/entry.ts'
import { retryWaitMs } from '../../core/policy.ts'
import type { RunPosition } from '../../core/ports/ports.ts'
import { type FailureOrigin, toFailure } from '../../core/worker/failure.ts'
import type { Mail, Message } from '../../core/worker/message.ts'
import { forAny, forRetry, goOn } from '../../core/worker/wait.ts'
import { watchLoop } from '../node/event-loop.ts'
import type { Behaviour } from '../node/kind.ts'
import { evidenceJson, quarantined } from '../slot/quarantine.ts'
import { mayGoOn, mayRecord } from '../turn/permit.ts'
import { afterRun, completedNote, endingOf } from '../turn/run-ending.ts'
import { emptyStep, type Step } from '../turn/step.ts'
import { triesOf, withoutTries, withTries } from '../turn/tries.ts'
import type { Turn } from '../turn/turn.ts'
import { HandlerInbox } from './handler-inbox.ts'
import { HandlerSelf, type SelfContext } from './handler-self.ts'
import { type ReceiveTimeout, timeoutOf } from './receive-timeout.ts'

export function handlerBehaviour(definition: HandlerDefinition): Behaviour {
  return (turn) => new HandlerTurn(turn, definition).advance()
}

/** A try failed: the turn ends with it, and the same message is received again after this long. */
interface RetryStep extends Step {
  readonly retryMs: number
}

class HandlerTurn {
  readonly #turn: Turn
  readonly #definition: HandlerDefinition
  readonly #inbox: HandlerInbox
  #stateJson: string | null

  constructor(turn: Turn, definition: HandlerDefinition) {
    this.#turn = turn
    this.#definition = definition
    this.#inbox = new HandlerInbox(turn.grant, definition.gather)
    this.#stateJson = turn.grant.stateJson
  }

  async advance(): Promise<void> {
    const turn = this.#turn
    turn.whenCancelled((position) => this.#cancelledStep(position))
    if (turn.grant.mark === 'cancelled') return turn.cancel()
    if (turn.grant.mark === 'poison') return this.#quarantine()
    for (let steps = 0; !turn.over; steps++) {
      const position = turn.position
      const mail = this.#inbox.next(position)
      if (mail === null) return turn.end(this.#inbox.wait(position))
      if (!mayGoOn(turn, steps, turn.host.policy.turnSliceSteps)) return turn.end(goOn)
      const step = await this.#receive(mail, position)
      // Cancelled or given back meanwhile: what comes next is not this turn's to receive.
      if (!mayRecord(turn)) return
      if ('retryMs' in step) {
        turn.add(step)
        return turn.end(forRetry, step.retryMs)
      }
      this.#inbox.take(mail)
      if (step.outcome !== undefined) this.#inbox.dropRun()
      // What nobody else sees may wait a moment for what comes of the next message, which is here.
      turn.add(step, { lazy: isOwnAffair(step) && this.#inbox.next(step.position) !== null })
      if (turn.isRetaken) await turn.settled()
    }
  }

  // Read anew for each receive: what a handler changes in place without setState is not part of what is committed (R3).
  #readState(): unknown {
    const { grant } = this.#turn
    const { state: schema, initial } = this.#definition
    try {
      const raw: unknown = this.#stateJson === null ? freshCopy(initial ?? null) : JSON.parse(this.#stateJson)
      if (!schema) return raw
      const fit = fitTo(schema, raw)
      if (fit.ok) return fit.value
      throw new Error(fit.reasons.join('; '))
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new InputError(`the state of worker ${grant.workerId} does not fit ${grant.kind}: ${why}`, { cause })
    }
  }

  async #receive(given: Mail, position: RunPosition): Promise<Step | RetryStep> {
    const mail = toRecord(given)
    const { grant, host } = this.#turn
    const attempt = triesOf(placeOf(mail), position) + 1
    const timeout = timeoutOf(this.#definition, this.#turn)
    let self: HandlerSelf | undefined
    try {
      this.#checkInput(mail)
      self = new HandlerSelf(this.#context(mail, position, attempt, timeout))
      const receive = () => this.#definition.receive(mail.message as Message<never>, self as unknown as Self<never>)
      let returned: unknown = watchLoop(receive, 'receive', host.policy.renewEveryMs, self.log)
      if (isAwaitable(returned))
        returned = await (timeout.expired ? Promise.race([returned, timeout.expired]) : returned)
      self.close()
      const step = this.#stepOf(mail, self, position, attempt)
      if (returned !== undefined && step.outcome === 'completed' && self.wishes.replyJson === undefined)
        self.log.warn('receive returned a value and did not reply: the result is null; self.reply(value) sets it')
      return step
    } catch (thrown) {
      self?.close({ isLate: timeout.reason !== undefined })
      const error = toRuntimeError(timeout.reason ?? thrown)
      const tries = error.retryable ? (this.#definition.retries ?? host.policy.retries) + 1 : attempt
      host.workerLog(grant, position.run).warn('receive failed', {
        attempt,
        of: tries,
        error: error.message,
        ...stackOf(thrown),
      })
      if (attempt < tries) return this.#retryStep(mail, error, position, attempt)
      return this.#failedStep(mail, error, position, attempt)
    } finally {
      timeout.clear()
    }
  }

  #checkInput(mail: Mail): void {
    if (mail.malformed !== undefined && mail.message.kind !== 'result') {
      throw new InputError(
        `message ${mail.message.id} of worker ${this.#turn.grant.workerId} cannot be read: ${mail.malformed}`,
      )
    }
    const schema = this.#definition.input
    if (!schema || mail.message.kind !== 'input') return
    const fit = fitTo(schema, mail.message.value)
    if (!fit.ok)
      throw new InputError(`the input of ${this.#turn.grant.kind} does not fit its schema: ${fit.reasons.join('; ')}`)
    Object.assign(mail.message, { value: fit.value })
  }

  #context(mail: Mail, position: RunPosition, attempt: number, timeout: ReceiveTimeout): SelfContext {
    const { grant, host } = this.#turn
    const received = mail.message.kind === 'result' ? 1 : 0
    return {
      grant,
      run: position.run,
      attempt,
      calls: position.calls,
      openChildren: position.awaits.length - received,
      state: this.#readState(),
      definition: this.#definition,
      limits: grant.limits,
      spending: this.#turn.spending.allowed,
      signal: () => timeout.signal,
      log: host.workerLog(grant, position.run),
      message: mail.message,
      poolOf: (kind) => host.poolOf(kind),
    }
  }

  // R1: all outcomes of a receive that did not throw.
  #stepOf(mail: Recorded, self: HandlerSelf, position: RunPosition, attempt: number): Step {
    const { wishes } = self
    if (wishes.failure !== undefined) return this.#failedStep(mail, wishes.failure, position, attempt)
    const { grant } = this.#turn
    const at = Date.now()
    const joining = wishes.spawns.filter((spawn) => !spawn.detached).map((spawn) => spawn.call)
    const awaits = [...position.awaits.filter((call) => !isResultOf(mail, call)), ...joining]
    const timersOpen = position.timersOpen - (mail.message.kind === 'timer' ? 1 : 0) + wishes.timers.length
    const ends = wishes.replyJson !== undefined || (awaits.length === 0 && timersOpen === 0)
    const { run } = position
    const entries = [this.#receivedEntry(mail, run, at, wishes)]
    const notes: EventNote[] = this.#receivedNotes(mail, position)
    for (const { id, kind, name, detached } of wishes.spawnNotes)
      notes.push(['worker.spawned', { id, kind, name, parent: grant.workerId, ...(detached && { detached }) }])
    this.#stateJson = wishes.stateJson ?? this.#stateJson
    const calls = position.calls + wishes.spawns.length
    const step = {
      ...this.#consumed(mail),
      entries,
      stateJson: wishes.stateJson,
      failure: position.open && triesOf(placeOf(mail), position) === 0 ? undefined : null,
      spawns: wishes.spawns,
      sends: wishes.sends,
      timers: wishes.timers,
      notes,
      refused: (error: RuntimeError) => this.#failedStep(mail, error, position, attempt),
    }
    if (!ends) {
      return {
        ...step,
        position: {
          ...withoutTries(placeOf(mail), position),
          run,
          calls,
          runState: runStateOf(awaits),
          open: true,
          awaits,
          timersOpen,
        },
      }
    }
    const valueJson = wishes.replyJson ?? 'null'
    entries.push(completedEntry(run, grant.epoch, at, valueJson))
    notes.push(completedNote(grant, run, valueJson))
    return {
      ...step,
      ...endingOf(grant, run, { status: 'completed', valueJson }),
      awaiting: awaits.length,
      // Also that of another message, which waits for its next try and will have none.
      failure: position.open && position.attempt === 0 ? undefined : null,
      position: afterRun(run),
    }
  }

  #failedStep(
    mail: Recorded | null,
    error: RuntimeError,
    position: RunPosition,
    attempt: number,
    origin: FailureOrigin = 'handler',
  ): Step {
    const at = Date.now()
    const { grant } = this.#turn
    const { run } = position
    const failure = toFailure(error, origin, attempt, at)
    const entries = [entryJson('failed', run, grant.epoch, at, { failure })]
    if (mail) entries.unshift(this.#receivedEntry(mail, run, at))
    return {
      ...emptyStep({ ...afterRun(run), runState: 'Failed' }),
      ...(mail ? this.#consumed(mail) : {}),
      entries,
      failure,
      ...endingOf(grant, run, { status: 'failed', failure }),
      // The result in hand is received by this very step, though it fails.
      awaiting: position.awaits.filter((call) => mail === null || !isResultOf(mail, call)).length,
      notes: [...(mail ? this.#receivedNotes(mail, position) : []), ['worker.failed', { run, failure }]],
    }
  }

  #retryStep(mail: Mail, error: RuntimeError, position: RunPosition, attempt: number): RetryStep {
    const at = Date.now()
    const failure = toFailure(error, 'handler', attempt, at)
    const given = error instanceof TransientError ? error.retryAfterMs : undefined
    const retryMs = retryWaitMs(given, attempt, Math.random(), this.#turn.host.policy)
    return {
      ...emptyStep({ ...position, runState: 'TransientFailure', ...withTries(placeOf(mail), attempt, position) }),
      entries: [entryJson('attemptFailed', position.run, this.#turn.grant.epoch, at, { failure, retryMs })],
      failure,
      notes: [['turn.retried', { run: position.run, attempt, retryMs, failure }]],
      retryMs,
    }
  }

  #cancelledStep(position: RunPosition): Step {
    const { grant } = this.#turn
    const at = Date.now()
    const failure = toFailure(
      new CancelledError(`worker ${grant.name} was cancelled`),
      'runtime',
      position.attempt + 1,
      at,
    )
    return {
      ...emptyStep(afterRun(position.run)),
      entries: [entryJson('cancelled', position.run, grant.epoch, at, {})],
      ...endingOf(grant, position.run, { status: 'cancelled', failure }),
      awaiting: position.awaits.length,
      notes: [['worker.cancelled', { run: position.run }]],
    }
  }

  // The worker was started several times apart from others and never committed: what it was given is put aside with evidence.
  async #quarantine(): Promise<void> {
    const { grant } = this.#turn
    const position = this.#turn.position
    const mail = this.#inbox.next(position)
    const next = mail ? `message ${mail.message.id} (${mail.message.kind})` : 'no message'
    const error = quarantined(grant, next)
    const step = this.#failedStep(mail && toRecord(mail), error, position, position.attempt + 1, 'runtime')
    const toDead = mail?.lane === 'user'
    this.#turn.add({
      ...step,
      entries: toDead ? step.entries.slice(1) : step.entries,
      dead: evidenceJson(grant, position, next, step.failure ?? undefined),
      notes: toDead ? [...step.notes, ['message.deadLettered', { id: mail.message.id }]] : step.notes,
    })
    return this.#turn.end(forAny)
  }

  #consumed(mail: Mail): Pick<Step, 'controlUsed' | 'userUsed' | 'familyUsed'> {
    return {
      controlUsed: mail.lane === 'control' ? 1 : 0,
      userUsed: mail.lane === 'user' ? 1 : 0,
      familyUsed: mail.lane === 'family' ? [mail.sequence] : [],
    }
  }

  #receivedEntry({ json }: Recorded, run: number, at: number, wishes?: HandlerSelf['wishes']): string {
    const asked: { -readonly [key in 'spawned' | 'sent' | 'timers']?: ReceivedEntry[key] } = {}
    if (wishes && wishes.spawnNotes.length > 0) asked.spawned = wishes.spawnNotes
    if (wishes && wishes.sends.length > 0) asked.sent = wishes.sends.map((send) => send.workerId)
    if (wishes && wishes.timers.length > 0) asked.timers = wishes.timers.map(({ id, ms }) => ({ id, ms }))
    return receivedEntry(run, this.#turn.grant.epoch, at, json, asked)
  }

  #receivedNotes(mail: Mail, position: RunPosition): EventNote[] {
    if (!position.open) return [['run.started']]
    return [
      [
        'message.consumed',
        { kind: mail.message.kind, ...(mail.message.kind === 'result' ? { from: mail.message.from } : {}) },
      ],
    ]
  }
}

/** Of what the handler's own code threw, for its author; troupe's errors say what to do by themselves. */
function stackOf(thrown: unknown): { stack?: string } {
  try {
    const isForeign = thrown instanceof Error && !(thrown instanceof RuntimeError)
    return isForeign && thrown.stack !== undefined ? { stack: thrown.stack } : {}
  } catch {
    return {}
  }
}

/** Of whatever make: queries of databases begin when they are awaited. */
function isAwaitable(given: unknown): given is PromiseLike<unknown> {
  return given != null && typeof (given as { then?: unknown }).then === 'function'
}

/** A mail with its message as it will be recorded (R4). */
interface Recorded extends Mail {
  readonly json: string
}

function toRecord(mail: Mail): Recorded {
  return { ...mail, json: jsonOf(mail.message) }
}

/** Does not throw: whoever sent it may have a larger stack than this thread, and each turn that receives it would break. */
function jsonOf(message: Message): string {
  try {
    return JSON.stringify(message)
  } catch {
    return JSON.stringify({ ...message, value: '(a value that is nested too deeply to be written)' })
  }
}

/** Where a mail is: its lane and its place there. */
function placeOf(mail: Mail): string {
  return `${mail.lane}:${mail.sequence}`
}

function isResultOf(mail: Mail, call: number): boolean {
  return mail.message.kind === 'result' && mail.message.call === call
}

/** A handler parked on children waits as an agent does while its tools run; on timers alone it still works on its message. */
function runStateOf(awaits: readonly number[]): RunPosition['runState'] {
  return awaits.length > 0 ? 'ExecutingTools' : 'ProcessingUserMessage'
}

/** Nothing but the worker's own state and history changes. */
function isOwnAffair({ outcome, spawns, sends, timers }: Step): boolean {
  return outcome === undefined && spawns.length + sends.length + timers.length === 0
}

function freshCopy(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? structuredClone(value) : value
}
