/**
 * Duty: the ends of an agent's run that are not its answer: failed, cancelled, quarantined.
 * Q1 At rest each call has its result: calls that are open when a run ends are answered as cancelled or, where nobody knows what became
 *    of them, as unknown (O3 of core/history/open-calls.ts), in the ending commit.
 */

import { CancelledError, type RuntimeError } from '../../core/errors.ts'
import type { EventNote } from '../../core/event/event.ts'
import { encodeTally } from '../../core/history/agent-tally.ts'
import { lastResult, type OpenCall } from '../../core/history/open-calls.ts'
import type { RunPosition } from '../../core/ports/ports.ts'
import { type Failure, type FailureOrigin, toFailure } from '../../core/worker/failure.ts'
import type { Mail } from '../../core/worker/message.ts'
import { evidenceJson, quarantined } from '../slot/quarantine.ts'
import { afterRun, endingOf } from '../turn/run-ending.ts'
import { emptyStep, type Step } from '../turn/step.ts'
import { type EntryFacts, type Journal, openCallsOf, type StepParts } from './journal.ts'

/** What goes into the same commit, before the failure. */
export interface Last {
  readonly entries?: readonly EntryFacts[]
  readonly parts?: StepParts
  /** Calls of a reply among these entries. */
  readonly notRun?: readonly OpenCall[]
}

export class AgentEnd {
  readonly #journal: Journal

  constructor(journal: Journal) {
    this.#journal = journal
  }

  fail(error: RuntimeError, origin: FailureOrigin, attempt: number, last: Last = {}): void {
    this.failWith(toFailure(error, origin, attempt, Date.now()), last)
  }

  failWith(failure: Failure, last: Last = {}): void {
    const { grant } = this.#journal.turn
    const { position, container } = this.#journal
    const { entries = [], parts = {} } = last
    const { code, message: error, origin, attempt } = failure
    this.#journal.log.warn('a run failed', { attempt, code, origin, error })
    const open = last.notRun ?? openCallsOf(container)
    const results = open.map((call, index) => lastResult(call, this.#journal.nextId(entries.length + index)))
    this.#journal.add(
      [...entries, ...results, { type: 'failed', failure }],
      {
        ...parts,
        ...endingOf(grant, position.run, { status: 'failed', failure }),
        failure,
        awaiting: position.awaits.length,
        position: { ...afterRun(position.run), runState: 'Failed' },
        notes: [...(parts.notes ?? []), ['worker.failed', { run: position.run, failure }]],
      },
      { lazy: true },
    )
  }

  /** By the stored history: what was added and not committed is gone, but for what a started call is known to have come to. */
  cancelledStep(position: RunPosition): Step {
    const { turn, tally } = this.#journal
    const { grant } = turn
    const { run } = position
    const failure = toFailure(
      new CancelledError(`worker ${grant.name} was cancelled`),
      'runtime',
      position.attempt + 1,
      Date.now(),
    )
    const entries = [
      ...this.#journal
        .storedOpenCalls()
        .map((call) => lastResult(call, `cancelled-${call.toolCallId}`, this.#journal.wordOf(call.toolCallId))),
      { type: 'cancelled' as const },
    ]
    return {
      ...emptyStep(afterRun(run)),
      entries: entries.map((facts) => this.#journal.makeEntry(facts, run).json),
      stateJson: encodeTally(tally),
      ...endingOf(grant, run, { status: 'cancelled', failure }),
      awaiting: position.awaits.length,
      notes: [['worker.cancelled', { run }]],
    }
  }

  /** The worker was started several times apart from others and never committed: what it was doing is put aside with evidence. */
  quarantine(head: Mail | null): void {
    const { turn, position } = this.#journal
    const { grant } = turn
    const step = this.#nextStep(head)
    const error = quarantined(grant, step)
    const failure = toFailure(error, 'runtime', position.attempt + 1, Date.now())
    const dead = evidenceJson(grant, position, step, failure)
    // Between runs what is put aside was not received.
    if (position.open || head === null) {
      this.failWith(failure, { parts: { dead } })
      return
    }
    const note: EventNote = ['message.deadLettered', { id: head.message.id }]
    this.failWith(failure, { parts: { userUsed: 1, dead, notes: [note] } })
  }

  #nextStep(head: Mail | null): string {
    const { position, container } = this.#journal
    if (!position.open) return head === null ? 'no message' : `message ${head.message.id} (${head.message.kind})`
    const { calls } = container.pending
    if (calls.length === 0) return `model call ${container.run.iterations + 1} of run ${position.run}`
    const names = calls.slice(0, 5).map(({ toolName, toolCallId }) => `${toolName} (${toolCallId})`)
    return `tool call ${names.join(', ')}${calls.length > 5 ? ` and ${calls.length - 5} more` : ''}`
  }
}
