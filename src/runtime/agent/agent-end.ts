/**
 * Duty: end an agent's run without an answer: failed, cancelled, quarantined.
 * Does not own: the end with an answer (think.ts).
 * AGENT-END-1 When no run is open, each call has its result. The commit that ends a run answers its open calls as cancelled, or as
 *             unknown if nobody knows whether they took effect (OPEN-CALLS-3 of core/history/run/open-calls.ts).
 */

import { thrownFields } from '../../core/code-place.ts'
import { CancelledError, type RuntimeError } from '../../core/errors.ts'
import type { EventNote } from '../../core/event/event.ts'
import {
  type CancelledEntry,
  type Entry,
  encodeEntry,
  type OrderedEntry,
  type ResultStatus,
} from '../../core/history/entry.ts'
import { encodeTally } from '../../core/history/run/agent-tally.ts'
import { lastResult, type OpenCall } from '../../core/history/run/open-calls.ts'
import { childIds } from '../../core/ids.ts'
import type { RunPosition } from '../../core/ports/ports.ts'
import { type Attributes, noTelemetry, type Telemetry } from '../../core/ports/telemetry.ts'
import type { Mail } from '../../core/worker/message/message.ts'
import { type Failure, type FailureOrigin, toFailure } from '../../core/worker/run/failure.ts'
import { afterRun, endingOf } from '../../core/worker/run-ends.ts'
import { evidenceJson, quarantined } from '../turn/quarantine.ts'
import { emptyStep, type Step } from '../turn/step/step.ts'
import { type Journal, openCallsOf, type StepParts } from './journal.ts'

/** What is recorded before a failure, in the same commit. */
export interface BeforeFailure {
  readonly entries?: readonly Entry[]
  readonly parts?: StepParts
  /** The calls of the reply that is among `entries`. None of them was run. */
  readonly notRun?: readonly OpenCall[]
  /** The model refused what the prompt held since the last reply: later prompts leave it out. */
  readonly leftOut?: boolean
}

export class AgentEnd {
  readonly #journal: Journal
  readonly #telemetry: Telemetry
  #last: { readonly run: number; readonly failure: Failure } | null = null

  constructor(journal: Journal, telemetry: Telemetry) {
    this.#journal = journal
    this.#telemetry = telemetry
  }

  /** Reports the end of a run. */
  countRun(run: number, outcome: ResultStatus): void {
    if (this.#telemetry === noTelemetry) return
    const { turn, tally, container } = this.#journal
    const { sessionId, workerId, kind } = turn.assignment
    const { iterations } = tally
    const { startedAt, toolCalls } = container.run
    const took: Attributes = startedAt === null ? {} : { ms: Math.max(0, Date.now() - startedAt) }
    this.#telemetry.count('runs', 1, {
      sessionId,
      workerId,
      kind,
      run,
      outcome,
      iterations,
      toolCalls,
      ...took,
    })
  }

  /** How this run failed in this turn. Null if it did not. */
  lastFailure(run: number): Failure | null {
    return this.#last?.run === run ? this.#last.failure : null
  }

  fail(error: RuntimeError, origin: FailureOrigin, attempt: number, before: BeforeFailure = {}): void {
    this.failWith(toFailure(error, origin, attempt, Date.now()), before, thrownFields(error))
  }

  /** `logged`: the stack, unless it was logged where the error was caught. */
  failWith(failure: Failure, before: BeforeFailure = {}, logged: { readonly stack?: string } = {}): void {
    const { assignment } = this.#journal.turn
    const { position, container } = this.#journal
    const { entries = [], parts = {} } = before
    this.#last = { run: position.run, failure }
    this.countRun(position.run, 'failed')
    const { code, message: error, origin, attempt } = failure
    this.#journal.log.warn('a run failed', { attempt, code, origin, error, ...logged })
    const open = before.notRun ?? openCallsOf(container)
    const results = open.map((call, index) =>
      this.#journal.entry('toolResult', lastResult(call, this.#journal.nextId(entries.length + index))),
    )
    this.#journal.add(
      [...entries, ...results, this.#journal.entry('failed', { failure, ...(before.leftOut && { leftOut: true }) })],
      {
        ...parts,
        ...endingOf(assignment, position.run, { status: 'failed', failure }),
        failure,
        openChildren: childIds(assignment.workerId, position.run, position.pendingCalls),
        position: { ...afterRun(position.run), runState: 'Failed' },
        notes: [...(parts.notes ?? []), ['worker.failed', { run: position.run, failure }]],
      },
      { lazy: true },
    )
  }

  /**
   * Makes the step that ends the stored history of a cancelled run. Entries that were added and not committed are dropped. What a call reported
   * in this turn is kept as its result.
   */
  cancelledStep(position: RunPosition, said: Pick<CancelledEntry, 'onCancel'> = {}): Step {
    const { turn, tally } = this.#journal
    const { assignment } = turn
    const { run } = position
    const failure = toFailure(
      new CancelledError(`worker ${assignment.name} was cancelled`),
      'runtime',
      position.attempt + 1,
      Date.now(),
    )
    const results = this.#journal.storedOpenCalls().map((call) => {
      const { toolCallId } = call
      const result = lastResult(call, `cancelled-${toolCallId}`, this.#journal.reportedOutcome(toolCallId))
      return this.#journal.entry('toolResult', result, run)
    })
    const entries = [...results, this.#journal.entry('cancelled', said, run)]
    this.countRun(run, 'cancelled')
    return {
      ...emptyStep(afterRun(run)),
      entries: entries.map(encodeEntry),
      stateJson: encodeTally(tally),
      costs: this.#journal.unrecordedCosts,
      ...endingOf(assignment, run, { status: 'cancelled', failure }),
      openChildren: childIds(assignment.workerId, run, position.pendingCalls),
      notes: [['worker.cancelled', { run }]],
    }
  }

  /**
   * The worker was started several times apart from others and never committed. Its run, or the message that would begin one, goes to
   * the dead letters together with the evidence. An order that was under way between runs is refused, and the message behind it stays.
   */
  quarantine(head: Mail | null): void {
    const { turn, position } = this.#journal
    const { assignment } = turn
    const step = this.#nextStep(head)
    const error = quarantined(assignment, step)
    const failure = toFailure(error, 'runtime', position.attempt + 1, Date.now())
    const dead = evidenceJson(assignment, position, step, failure)
    const order = this.#orderUnderWay()
    if (order !== null) {
      const { message } = order
      const refused = 'it took its node down again and again, and was given up: troupe mailbox dead has the evidence.'
      // If it stayed undone, it would be done again before the next message, and take that one along.
      this.failWith(failure, {
        entries: [this.#journal.entry('orderRefused', { message, reason: refused })],
        parts: { dead },
      })
      return
    }
    // Between runs the message goes to the dead letters without being received.
    if (position.open || head === null) {
      this.failWith(failure, { parts: { dead } })
      return
    }
    const note: EventNote = ['message.deadLettered', { id: head.message.id }]
    this.failWith(failure, { parts: { inputsConsumed: 1, dead, notes: [note] } })
  }

  /** An order that was received and not done, if nothing else was under way. */
  #orderUnderWay(): OrderedEntry | null {
    const { position, container } = this.#journal
    return position.open ? null : container.owedOrder
  }

  #nextStep(head: Mail | null): string {
    const { position, container } = this.#journal
    const order = this.#orderUnderWay()
    if (order !== null) return `order ${order.message} (${order.order.do})`
    if (!position.open) return head === null ? 'no message' : `message ${head.message.id} (${head.message.kind})`
    const { calls } = container.pending
    if (calls.length === 0) return `model call ${container.run.iterations + 1} of run ${position.run}`
    const names = calls.slice(0, 5).map(({ toolName, toolCallId }) => `${toolName} (${toolCallId})`)
    return `tool call ${names.join(', ')}${calls.length > 5 ? ` and ${calls.length - 5} more` : ''}`
  }
}
