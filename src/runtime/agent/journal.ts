/**
 * Duty: record one turn of an agent: create entries, apply them to what the agent knows, and hand steps to the turn.
 * Owns: the container and the tally while the turn runs. Does not own: commits and their order (runtime/turn).
 * JOURNAL-1 The container and the history hold the same entries in the same order.
 * JOURNAL-2 Entries that are not acknowledged yet are known as such. A cancel therefore answers exactly the calls that are open in the
 *           stored history.
 */

import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { EventNote } from '../../core/event/event.ts'
import type { Usage } from '../../core/history/chat/chat-message.ts'
import type { ContextContainer } from '../../core/history/context-container.ts'
import { type Entry, type EntryParts, encodeEntry, entryVersion } from '../../core/history/entry.ts'
import {
  type AgentTally,
  decodeTally,
  emptyTally,
  encodeTally,
  spendingOf,
} from '../../core/history/run/agent-tally.ts'
import { type CallOutcome, type OpenCall, openCallsAfter } from '../../core/history/run/open-calls.ts'
import type { SubCalls } from '../../core/history/run/reply-calls.ts'
import type { Spending } from '../../core/policy.ts'
import type { Assignment, RunPosition } from '../../core/ports/ports.ts'
import type { CallCost } from '../../core/worker/run/cost.ts'
import { RunMachine } from '../../core/worker/run/lifecycle.ts'
import type { RunState } from '../../core/worker/run/run-state.ts'
import { addSpending, addUsage, type SomeUsage, subtractSpending } from '../../core/worker/run/usage.ts'
import { emptyStep, type Step, type Used } from '../turn/step/step.ts'
import type { Turn } from '../turn/turn.ts'
import { type KnownHistory, textBytes } from './history-cache.ts'

export interface StepParts extends Partial<Omit<Step, 'entries' | 'position' | 'notes'>> {
  readonly position?: Partial<RunPosition>
  readonly notes?: readonly EventNote[]
}

export class Journal {
  readonly turn: Turn
  readonly container: ContextContainer
  readonly machine: RunMachine
  tally: AgentTally
  #known: KnownHistory
  /** Entries of this turn, each with the number of the step that records it. */
  readonly #added: { readonly step: number; readonly entry: Entry }[] = []
  /** Calls that were open in the stored history when the turn began. */
  readonly #openBefore: readonly OpenCall[]
  /** The costs of model calls that were answered in this turn, each with the number of the step that records it; null: no step records it yet. */
  readonly #costs: { step: number | null; readonly cost: CallCost }[] = []
  #steps = 0
  /** What this agent had used at steps of this turn: at the last one that is acknowledged (0: before the first), and at those behind it. */
  readonly #spendings: { readonly step: number; readonly spending: Spending }[]
  /** What tools reported in this turn, by the ids of the calls. */
  readonly #reported = new Map<string, CallOutcome>()

  constructor(turn: Turn, known: KnownHistory) {
    const { assignment } = turn
    this.turn = turn
    this.container = known.container
    this.#known = known
    this.tally = (assignment.stateJson === null ? null : decodeTally(assignment.stateJson)) ?? emptyTally
    this.#spendings = [{ step: 0, spending: spendingOf(this.tally) }]
    this.#openBefore = openCallsOf(known.container)
    this.machine = new RunMachine(recordedState(assignment, known.container), (state, event) =>
      this.noteIgnored(`${event} in state ${state}`),
    )
  }

  get position(): RunPosition {
    return this.turn.position
  }

  /** A log with the ids of the worker and of its run. */
  get log(): WorkerLog {
    return this.turn.host.workerLog(this.turn.assignment, this.position.run)
  }

  /** What the cache keeps when this turn has ended. */
  get known(): KnownHistory {
    return this.#known
  }

  /** The id of a message is its position in the history. `ahead`: how many entries come before it in the same step. */
  nextId(ahead = 0): string {
    return `m${this.#known.length + ahead}`
  }

  /** Counts something that came although nothing waited for it. Messages are delivered at least once, so duplicates are normal. */
  noteIgnored(what: string): void {
    this.tally = { ...this.tally, ignoredEvents: this.tally.ignoredEvents + 1 }
    this.log.info('a message or event that nothing waited for was ignored', { what })
  }

  /** Counts a request as failed until its reply is there, so that a cancel in between records it too. */
  countRequest(): void {
    this.tally = { ...this.tally, ...addUsage(this.tally, { modelCalls: 1, failedModelCalls: 1 }) }
  }

  /** Takes back the last request. One that a step holds already stays: what the session has used only grows. */
  takeBackRequest(): void {
    const recorded = this.#spendings.at(-1)?.spending.modelCalls ?? 0
    if (this.tally.modelCalls <= recorded) return
    const back = { modelCalls: -1, failedModelCalls: -1 }
    // A sum of none is left out, and would leave the old one in place.
    this.tally = { ...this.tally, failedModelCalls: undefined, ...addUsage(this.tally, back) }
  }

  /** Counts tokens of a request that has no reply yet, or takes them back because its reply counts them. */
  countTokens(more: SomeUsage): void {
    this.tally = { ...this.tally, ...addUsage(this.tally, more) }
  }

  /** Counts the reply to the last request. */
  countReply(model: string, usage: Usage, isBlank: boolean): void {
    const { tally } = this
    this.#noteCost(model, usage)
    this.tally = {
      ...tally,
      iterations: tally.iterations + (isBlank ? 0 : 1),
      failedModelCalls: 0,
      ...addUsage(tally, { ...usage, failedModelCalls: -1 }),
    }
  }

  /** Counts the reply with a summary, which is no iteration. */
  countSummary(model: string, usage: Usage): void {
    this.#noteCost(model, usage)
    this.tally = { ...this.tally, failedModelCalls: 0, ...addUsage(this.tally, { ...usage, failedModelCalls: -1 }) }
  }

  /** The next step records what this reply has cost. */
  #noteCost(model: string, { inputTokens, outputTokens, costMicroUsd }: Usage): void {
    this.#costs.push({ step: null, cost: { model, inputTokens, outputTokens, microUsd: costMicroUsd ?? null } })
  }

  /** The costs of replies that no acknowledged step records. */
  get unrecordedCosts(): readonly CallCost[] {
    const { acknowledged } = this.turn
    return this.#costs.flatMap(({ step, cost }) => (step === null || step > acknowledged ? cost : []))
  }

  /** Counts an iteration whose reply took too long. Its request stays a failed one. */
  countInterruption(): void {
    this.tally = { ...this.tally, iterations: this.tally.iterations + 1 }
  }

  /** Counts the tool calls of a reply. */
  countCalls(toolCalls: number): void {
    if (toolCalls === 0) return
    this.tally = { ...this.tally, ...addUsage(this.tally, { toolCalls }) }
  }

  /** What all agents of the session have used: by the answer to the last commit, with what this turn has counted since. */
  get sessionSpent(): Spending {
    const { spent } = this.turn.session.spending
    const own = spendingOf(this.tally)
    return spent ? addSpending(spent, subtractSpending(own, this.#spentByRecord)) : own
  }

  /** What this agent had used at the last step that is acknowledged. */
  get #spentByRecord(): Spending {
    const next = () => this.#spendings[1]
    for (let after = next(); after && after.step <= this.turn.acknowledged; after = next()) this.#spendings.shift()
    return (this.#spendings[0] as { readonly spending: Spending }).spending
  }

  /** What was used since the last step, if that was a request: its reply may never come. The step that gets it is to be the next one. */
  takeUsed(): Used | undefined {
    if (this.#spendings.at(-1)?.spending.modelCalls === this.tally.modelCalls) return undefined
    return { stateJson: encodeTally(this.tally), costs: this.#takeCosts() }
  }

  /** Creates an entry. Nothing is recorded before it is added. */
  entry<Type extends Entry['type']>(type: Type, parts: EntryParts<Type>, run: number = this.position.run): Entry {
    const { epoch } = this.turn.assignment
    return { type, v: entryVersion, at: Date.now(), run, epoch, ...parts } as unknown as Entry
  }

  /** Adds a step to the turn, which records it, and applies its entries. The run's state in it is that of the machine. */
  add(entries: readonly Entry[], parts: StepParts = {}, options: { lazy?: boolean } = {}): void {
    const jsons = entries.map(encodeEntry)
    const step = this.#step(jsons, parts)
    this.#note(entries)
    this.#apply(entries, jsons)
    this.turn.add(step, options)
  }

  /**
   * Adds a step that is dropped if the store refuses it, and waits for the answer. Resolves with the reason of a refusal, or with null when the step is
   * recorded. No other step of this turn may be on its way.
   */
  async propose(entries: readonly Entry[], parts: StepParts): Promise<Error | null> {
    const jsons = entries.map(encodeEntry)
    const number = this.#steps + 1
    let refusal: Error | null = null
    const step: Step = {
      ...this.#step(jsons, parts),
      onDropped: (error) => {
        refusal = error
        this.#added.length -= entries.length
        // The next step records these costs, and what was used.
        for (const one of this.#costs) if (one.step === number) one.step = null
        this.#spendings.pop()
      },
    }
    // Noted before the answer comes: a cancel that arrives in between answers the calls that are open in the store by then (JOURNAL-2).
    this.#note(entries)
    this.turn.add(step)
    await this.turn.settled()
    if (refusal === null) this.#apply(entries, jsons)
    return refusal
  }

  /** The calls that the end of a cancelled run must answer: those open in the stored history, whatever is still on its way. */
  storedOpenCalls(): readonly OpenCall[] {
    let open = this.#openBefore
    for (const { step, entry } of this.#added) {
      if (step > this.turn.acknowledged) break
      open = openCallsAfter(open, entry)
    }
    return open
  }

  /** How a call ended, as its tool reported in this turn, although that may not be recorded yet. */
  reportedOutcome(toolCallId: string): CallOutcome | undefined {
    for (const { entry } of this.#added) {
      if (entry.type !== 'toolResult' || entry.toolCallId !== toolCallId) continue
      const { status, output, facts } = entry
      return { status, output, ...(facts && { facts }) }
    }
    return this.#reported.get(toolCallId)
  }

  /** Keeps what the tool of a call reported, for a call whose result is not added yet, or that will be tried again. It becomes the result if the run ends first. */
  noteReported(toolCallId: string, outcome: CallOutcome): void {
    this.#reported.set(toolCallId, outcome)
  }

  #step(entries: readonly string[], parts: StepParts): Step {
    const step = emptyStep({ ...this.position, runState: this.machine.state, ...parts.position })
    const costs = this.#takeCosts()
    this.#spendings.push({ step: this.#steps + 1, spending: spendingOf(this.tally) })
    return { ...step, ...parts, position: step.position, entries, stateJson: encodeTally(this.tally), costs }
  }

  #takeCosts(): readonly CallCost[] | undefined {
    const open = this.#costs.filter(({ step }) => step === null)
    for (const one of open) one.step = this.#steps + 1
    return open.length === 0 ? undefined : open.map(({ cost }) => cost)
  }

  #note(entries: readonly Entry[]): void {
    this.#steps++
    for (const entry of entries) this.#added.push({ step: this.#steps, entry })
  }

  #apply(entries: readonly Entry[], jsons: readonly string[]): void {
    let { bytes } = this.#known
    for (const entry of entries) this.container.apply(entry)
    for (const json of jsons) bytes += textBytes(json)
    const length = this.#known.length + entries.length
    this.#known = { ...this.#known, length, bytes, lastJson: jsons.at(-1) ?? this.#known.lastJson }
  }
}

/**
 * The state of the run where the recorded history has led it. While a model call is made, the renewer writes `AwaitingLLMResponse` into
 * the record, perhaps before the step that led to the call is recorded. If that step was lost with its node, the run goes on from before it.
 */
function recordedState({ runState, open }: Assignment, { history }: ContextContainer): RunState {
  if (runState !== 'AwaitingLLMResponse') return runState
  if (!open) return 'Idle'
  return history.openCount > 0 ? 'ExecutingTools' : runState
}

export function openCallsOf({ pending }: ContextContainer): readonly OpenCall[] {
  const { started, subCalls } = pending
  return pending.calls.map(({ toolCallId, toolName }) => {
    const steps = startedSteps(subCalls.get(toolCallId))
    const isStarted = started.has(toolCallId) || steps.length > 0
    return { toolCallId, toolName, ...(isStarted && { isStarted }), ...(steps.length > 0 && { steps }) }
  })
}

/** The steps of a recipe that have begun a `once` tool. */
function startedSteps(steps: ReturnType<SubCalls['get']>): readonly string[] {
  const hasBegun = [...(steps?.values() ?? [])].filter((step) => step.type === 'subCallStarted' || step.once === true)
  return hasBegun.map(({ id }) => id)
}
