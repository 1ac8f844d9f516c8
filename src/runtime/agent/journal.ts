/**
 * Duty: one turn of an agent as it is recorded: makes entries, applies them to what the agent knows, and hands steps to the turn.
 * J1 Container and history hold the same entries in the same order. J2 What was added and is not acknowledged is told apart, so that
 *    a cancel answers exactly the calls that the stored history holds open.
 */

import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { EventNote } from '../../core/event/event.ts'
import { type AgentTally, decodeTally, emptyTally, encodeTally, spendingOf } from '../../core/history/agent-tally.ts'
import type { Usage } from '../../core/history/chat-message.ts'
import type { ContextContainer } from '../../core/history/context-container.ts'
import { type Entry, entryJson, entryVersion } from '../../core/history/entry.ts'
import { type OpenCall, type OwnWord, openCallsAfter } from '../../core/history/open-calls.ts'
import type { Spending } from '../../core/policy.ts'
import type { Grant, RunPosition } from '../../core/ports/ports.ts'
import { RunMachine } from '../../core/worker/lifecycle.ts'
import type { RunState } from '../../core/worker/run-state.ts'
import { emptyStep, type Step } from '../turn/step.ts'
import type { Turn } from '../turn/turn.ts'
import { type KnownHistory, textBytes } from './history-cache.ts'

interface MadeEntry {
  readonly entry: Entry
  /** As it is stored. */
  readonly json: string
}

/** An entry without its head. */
export type EntryFacts = { readonly type: Entry['type'] } & Readonly<Record<string, unknown>>

export interface StepParts extends Partial<Omit<Step, 'entries' | 'position' | 'notes'>> {
  readonly position?: Partial<RunPosition>
  readonly notes?: readonly EventNote[]
}

export class Journal {
  readonly turn: Turn
  readonly container: ContextContainer
  readonly machine: RunMachine
  tally: AgentTally
  #length: number
  #bytes: number
  #lastJson: string
  /** Entries of this turn with the number of the step they went with. */
  readonly #added: { readonly step: number; readonly entry: Entry }[] = []
  /** Open calls of the stored history when the turn began. */
  readonly #openBefore: readonly OpenCall[]
  #steps = 0
  readonly #words = new Map<string, OwnWord>()

  constructor(turn: Turn, known: KnownHistory) {
    const { grant } = turn
    this.turn = turn
    this.container = known.container
    this.#length = known.length
    this.#bytes = known.bytes
    this.#lastJson = known.lastJson
    this.tally = (grant.stateJson === null ? null : decodeTally(grant.stateJson)) ?? emptyTally
    this.#openBefore = openCallsOf(known.container)
    this.machine = new RunMachine(recordedState(grant, known.container), (state, event) =>
      this.noteIgnored(`${event} in state ${state}`),
    )
  }

  get position(): RunPosition {
    return this.turn.position
  }

  /** Of its run. */
  get log(): WorkerLog {
    return this.turn.host.workerLog(this.turn.grant, this.position.run)
  }

  /** What the cache keeps when this turn has ended. */
  get known(): KnownHistory {
    return { container: this.container, length: this.#length, bytes: this.#bytes, lastJson: this.#lastJson }
  }

  /** Ids of messages are their places in the history. */
  nextId(ahead = 0): string {
    return `m${this.#length + ahead}`
  }

  /** Something came that nothing waits for: duplicates are normal where messages are delivered at least once. */
  noteIgnored(what: string): void {
    this.tally = { ...this.tally, ignoredEvents: this.tally.ignoredEvents + 1 }
    this.log.info('ignored', { what })
  }

  countUsage(usage: Usage, isBlank: boolean): void {
    const { tally } = this
    this.tally = {
      ...tally,
      iterations: tally.iterations + (isBlank ? 0 : 1),
      modelCalls: tally.modelCalls + 1,
      inputTokens: tally.inputTokens + usage.inputTokens,
      outputTokens: tally.outputTokens + usage.outputTokens,
      cacheReadTokens: tally.cacheReadTokens + (usage.cacheReadTokens ?? 0),
      cacheWriteTokens: tally.cacheWriteTokens + (usage.cacheWriteTokens ?? 0),
      reasoningTokens: tally.reasoningTokens + (usage.reasoningTokens ?? 0),
    }
  }

  /** What the agents of the session have used as of the last commit, which has all replies of this turn once they are acknowledged. */
  get sessionSpent(): Spending {
    return this.turn.spending.spent ?? spendingOf(this.tally)
  }

  /** Adds a step to the turn, which has it recorded, and applies it. The run's state is the machine's. */
  add(entries: readonly EntryFacts[], parts: StepParts = {}, options: { lazy?: boolean } = {}): void {
    const made = entries.map((facts) => this.makeEntry(facts))
    const step = this.#step(made, parts)
    this.#note(made)
    this.#apply(made)
    this.turn.add(step, options)
  }

  /** Adds a step that the store may decline; resolves with why it did, or null when it stands. Nothing else is under way. */
  async propose(entries: readonly EntryFacts[], parts: StepParts): Promise<Error | null> {
    const made = entries.map((facts) => this.makeEntry(facts))
    let declined: Error | null = null
    const step: Step = {
      ...this.#step(made, parts),
      declined: (error) => {
        declined = error
        this.#added.length -= made.length
      },
    }
    // A cancel may be heard before this goes on, and answers what the store holds open by then (J2).
    this.#note(made)
    this.turn.add(step)
    await this.turn.settled()
    if (declined === null) this.#apply(made)
    return declined
  }

  /** What the end of a cancelled run answers: by the stored history, not by what was on its way. */
  storedOpenCalls(): readonly OpenCall[] {
    let open = this.#openBefore
    for (const { step, entry } of this.#added) {
      if (step > this.turn.acknowledged) break
      open = openCallsAfter(open, entry)
    }
    return open
  }

  /** What the tool of a call said of it in this turn, though it is not recorded (yet). */
  wordOf(toolCallId: string): OwnWord | undefined {
    const said = this.#words.get(toolCallId)
    if (said !== undefined) return said
    for (const { entry } of this.#added) {
      if (entry.type !== 'toolResult' || entry.toolCallId !== toolCallId) continue
      const { status, output, facts } = entry
      return { status, output, ...(facts && { facts }) }
    }
    return undefined
  }

  /** Of a call that is to be tried again: recorded with the others that are, or as its result where the run is cancelled before. */
  noteWord(toolCallId: string, word: OwnWord): void {
    this.#words.set(toolCallId, word)
  }

  /** The entry, and as it is stored. */
  makeEntry({ type, ...facts }: EntryFacts, run: number = this.position.run): MadeEntry {
    const at = Date.now()
    const { epoch } = this.turn.grant
    const entry = { type, v: entryVersion, at, run, epoch, ...facts } as unknown as Entry
    return { entry, json: entryJson(type, run, epoch, at, facts) }
  }

  #step(made: readonly MadeEntry[], parts: StepParts): Step {
    const step = emptyStep({ ...this.position, runState: this.machine.state, ...parts.position })
    return {
      ...step,
      ...parts,
      position: step.position,
      entries: made.map(({ json }) => json),
      stateJson: encodeTally(this.tally),
    }
  }

  #note(made: readonly MadeEntry[]): void {
    this.#steps++
    for (const { entry } of made) this.#added.push({ step: this.#steps, entry })
  }

  #apply(made: readonly MadeEntry[]): void {
    for (const { entry, json } of made) {
      this.container.apply(entry)
      this.#length++
      this.#bytes += textBytes(json)
      this.#lastJson = json
    }
  }
}

/**
 * Of a model call the record tells from where the renewer sees it, also while what led to it waits to be recorded (STEP-2). When that
 * is lost with its node, the run goes on from where it was before.
 */
function recordedState({ runState, open }: Grant, { history }: ContextContainer): RunState {
  if (runState !== 'AwaitingLLMResponse') return runState
  if (!open) return 'Idle'
  return history.openCount > 0 ? 'ExecutingTools' : runState
}

export function openCallsOf({ pending }: ContextContainer): readonly OpenCall[] {
  return pending.calls.map(({ toolCallId, toolName }) => ({
    toolCallId,
    toolName,
    ...(pending.started.has(toolCallId) && { isStarted: true }),
  }))
}
