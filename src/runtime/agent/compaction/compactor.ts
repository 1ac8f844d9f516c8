/**
 * Duty: compact the conversation of one agent during one turn: decide when, have the summary written beside the run, and record it.
 * Does not own: what the summary asks for (handoff.ts), what it does to a prompt (core/history/prompt/prompt-fold.ts).
 * COMPACT-1 The run goes on while the summary is written. A request waits for it only if the window is full.
 * COMPACT-2 What went wrong with a summary changes nothing but what was spent: an event says it, and this turn does not try again.
 * COMPACT-3 Calls that are open, children and asks are never in the part that a summary stands for: that part ends before a message, and what
 *           is open belongs to the newest reply. The task of the run is repeated word by word if its message is in that part.
 */
import type { CompactionSettings } from '../../../core/definition/compaction-settings.ts'
import type { Model, PromptMessage } from '../../../core/definition/model.ts'
import { toRuntimeError } from '../../../core/errors.ts'
import type { EventNote } from '../../../core/event/event.ts'
import { promptTokens } from '../../../core/history/prompt/estimate.ts'
import { withoutSenderLines } from '../../../core/history/prompt/prompt-fold.ts'
import { addUsage } from '../../../core/worker/usage.ts'
import { mayCall } from '../../turn/permit.ts'
import type { Turn } from '../../turn/turn.ts'
import type { Journal } from '../journal.ts'
import type { ContextLimit } from './context-limit.ts'
import { type Handoff, writeHandoff } from './handoff.ts'

/** What a kind says of compaction, with what this node knows. */
export interface Compaction {
  readonly settings: CompactionSettings
  readonly model: Model
  readonly limit: ContextLimit
}

const atDefault = 0.85
const keepDefault = 6
/** Of a window that is filled so far the next reply may not fit. */
const fullShare = 0.97
/** Fewer parts are not worth a request. */
const leastParts = 4
/** A provider that calls each prompt too long is not asked for ever. */
const overflowsMost = 2
const taskCharsMax = 20_000

/** What a summary is to stand for: the parts of the prompt before a message. */
interface Cut {
  readonly firstKept: string
  readonly parts: number
  readonly owed?: string
}

type Written = (Cut & { readonly handoff: Handoff }) | { readonly error: Error }

/** What it needs of the turn of its agent. */
interface CompactorHost {
  readonly turn: Turn
  readonly journal: Journal
  /** The turn must record nothing more. */
  readonly isOver: boolean
}

export class Compactor {
  readonly #host: CompactorHost
  readonly #compaction: Compaction | null
  #writing: Promise<void> | null = null
  #written: Written | null = null
  #hasFailed = false
  #overflows = 0

  /** Null: the kind does not compact. */
  constructor(host: CompactorHost, compaction: Compaction | null) {
    this.#host = host
    this.#compaction = compaction
  }

  /** How often in this turn a prompt was too long: the next request of the same reply is another one. */
  get overflows(): number {
    return this.#overflows
  }

  /** Before a request. Returns a promise only if the request has to wait for the summary. */
  beforeRequest(): Promise<boolean> | null {
    this.#record()
    this.#beginIfLarge()
    return this.#writing !== null && this.#share() >= fullShare ? this.finish() : null
  }

  /** After a reply that ended its run: the conversation goes on later. */
  afterAnswer(): void {
    const { assignment } = this.#host.turn
    if (!assignment.isJob && assignment.parentId === null) this.#beginIfLarge()
  }

  /** Waits for a summary that is being written. Resolves with true once it is recorded. */
  async finish(): Promise<boolean> {
    await this.#writing
    return this.#record()
  }

  /** A summary is being written, or is written and not recorded. */
  get isPending(): boolean {
    return this.#writing !== null || this.#written !== null
  }

  /** The provider says that the prompt is too long. Returns true if it is shorter now. */
  async afterOverflow(): Promise<boolean> {
    if (this.#compaction === null || ++this.#overflows > overflowsMost) return false
    this.#compaction.limit.learn(this.#host.journal.container.size.tokens)
    if (!this.isPending && !this.#hasFailed) this.#begin(this.#compaction)
    return this.finish()
  }

  #share(): number {
    const window = this.#compaction?.limit.tokens
    return window ? this.#host.journal.container.size.tokens / window : 0
  }

  #beginIfLarge(): void {
    if (this.#compaction === null || this.isPending || this.#hasFailed) return
    if (this.#share() >= (this.#compaction.settings.at ?? atDefault)) this.#begin(this.#compaction)
  }

  #begin({ settings, model, limit }: Compaction): void {
    const { journal, turn } = this.#host
    const boundary = journal.container.history.boundary(settings.keep ?? keepDefault, leastParts)
    if (boundary === null || !mayCall(turn)) return
    const { firstKept, before } = boundary
    const task = owedTask(journal.container.run.inputText, journal.container.history.prompt().slice(before.length))
    const cut: Cut = { firstKept, parts: before.length, ...(task !== null && { owed: task }) }
    const key = `${turn.assignment.workerId}/${journal.position.run}/handoff/${firstKept}`
    const signal = AbortSignal.any([turn.signal, AbortSignal.timeout(turn.host.policy.modelCallMs)])
    const written = writeHandoff(model, before, {
      instruction: settings.instruction,
      tokensMax: limit.tokens,
      key,
      signal,
    })
    this.#writing = written.then(
      (handoff) => this.#note({ ...cut, handoff }),
      (thrown: unknown) => this.#note({ error: toRuntimeError(thrown) }),
    )
  }

  #note(written: Written): void {
    this.#written = written
    this.#writing = null
  }

  /** Returns true if the prompt begins with a new summary now. */
  #record(): boolean {
    const written = this.#written
    const { journal, isOver } = this.#host
    if (written === null || isOver || this.#compaction === null) return false
    this.#written = null
    if ('error' in written) {
      this.#hasFailed = true
      const [model, reason] = [this.#compaction.model.id, written.error.message]
      journal.tally = { ...journal.tally, ...addUsage(journal.tally, { modelCalls: 1, failedModelCalls: 1 }) }
      journal.log.warn('a conversation could not be compacted', { model, error: reason })
      journal.add([], { notes: [['compaction.failed', { model, reason }]] }, { lazy: true })
      return false
    }
    const { firstKept, parts, owed, handoff } = written
    const { container } = journal
    const { text, reply } = handoff
    const { model, usage } = reply
    const { inputTokens, outputTokens } = usage
    journal.tally = { ...journal.tally, ...addUsage(journal.tally, { modelCalls: 1, ...usage }) }
    const tokensBefore = container.size.tokens
    const kept = promptTokens(container.history.prompt().slice(parts))
    const tokensAfter = kept + promptTokens([{ role: 'user', content: [{ type: 'text', text }] }])
    const note: EventNote = ['context.compacted', { model, tokensBefore, tokensAfter, inputTokens, outputTokens }]
    const summary = { text, ...(owed !== undefined && { owed }), firstKept, model, usage }
    journal.add([journal.entry('compacted', summary)], { notes: [note] })
    return true
  }
}

/** The task of the run as a model has to know it, unless its message stays in the prompt. */
function owedTask(text: string | undefined, kept: readonly PromptMessage[]): string | null {
  if (text === undefined || text.trim() === '') return null
  const stays = kept.some(
    (part) => part.role === 'user' && part.content.some((block) => block.type === 'text' && block.text.includes(text)),
  )
  if (stays) return null
  return `[The task in progress, word by word]\n${withoutSenderLines(text.slice(0, taskCharsMax))}`
}
