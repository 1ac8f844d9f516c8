/**
 * Duty: compact the conversation of one agent during one turn: decide when, have the summary written beside the run, and record it.
 * Does not own: what the summary asks for (handoff.ts), what it does to a prompt (core/history/prompt/prompt-fold.ts).
 * COMPACT-1 The run goes on while the summary is written. A request waits for it only if the window is full. The end of a turn waits for it, so that the
 *           summary is paid for once; it is broken off where nobody reads the conversation again, or where a node that drains hands on a run in progress.
 * COMPACT-2 What went wrong with a summary changes nothing but what was spent: an event says it, and this turn does not try again.
 * COMPACT-3 Calls that are open, children and asks are never in the part that a summary stands for: that part ends before a message, and what
 *           is open belongs to the newest reply. The task of the run is repeated word by word if its message is in that part; between runs that of the last
 *           one if it failed, since somebody may let it go on.
 * COMPACT-4 A summary counts from its request on, like any model call, and no summary begins by itself that would leave the session nothing for the request
 *           that follows.
 */
import type { CompactionSettings } from '../../../core/definition/agent/compaction-settings.ts'
import type { Model, ModelRequest } from '../../../core/definition/model.ts'
import { LimitError, toRuntimeError } from '../../../core/errors.ts'
import type { EventNote } from '../../../core/event/event.ts'
import type { ContextContainer } from '../../../core/history/context-container.ts'
import type { OrderedEntry } from '../../../core/history/entry.ts'
import { clearableIn } from '../../../core/history/prompt/cleared.ts'
import { promptTokens, tokensIn } from '../../../core/history/prompt/estimate.ts'
import { withoutSenderLines } from '../../../core/history/prompt/user-blocks.ts'
import { mayCall, mayRecord } from '../../turn/permit.ts'
import type { Turn } from '../../turn/turn.ts'
import type { Journal } from '../journal.ts'
import { OpenRequest } from '../reply/open-request.ts'
import type { ContextLimit } from './context-limit.ts'
import { type Handoff, writeHandoff } from './handoff.ts'

/** How a kind compacts, and what this node knows of its model. */
export interface Compaction {
  readonly settings: CompactionSettings
  readonly model: Model
  readonly limit: ContextLimit
}

const atDefault = 0.85
const keepDefault = 6
/** If the window is filled to this share, the next reply may not fit. */
const fullShare = 0.97
/** To summarize fewer parts is not worth a request. */
const leastParts = 4
/** Old results are cleared if that makes so much of the prompt free. Less would only put the summary off. */
const clearShare = 0.2
/** The same for a summary that somebody asks for. */
const leastPartsByHand = 2
/** A provider that calls each prompt too long is not asked for ever. */
const overflowsMost = 2
const taskCharsMax = 20_000

/** What a summary is to stand for: the parts of the prompt before a message. */
interface Cut {
  readonly firstKept: string
  readonly parts: number
  readonly owed?: string
}

/** `order`: the id of the order that asked for it. */
type Written = { readonly order?: string } & ((Cut & { readonly handoff: Handoff }) | { readonly error: Error })

/** What somebody asked for by hand. */
interface ByHand {
  readonly id: string
  readonly instruction?: string | undefined
  readonly keepLast?: number | undefined
}

type SentPrompt = Pick<ModelRequest, 'instructions' | 'messages' | 'tools'>

/** What the compactor needs of the turn of its agent. */
interface CompactorHost {
  readonly turn: Turn
  readonly journal: Journal
  /** The turn must record nothing more. */
  readonly isOver: boolean
}

export class Compactor {
  readonly #host: CompactorHost
  readonly #compaction: Compaction | null
  /** The last request for a summary. */
  #request: OpenRequest | null = null
  #writing: Promise<void> | null = null
  #written: Written | null = null
  /** Breaks off the summary that is being written. */
  #breakOff: AbortController | null = null
  /** True if somebody asked for that one. */
  #isByHand = false
  #hasFailed = false
  #overflows = 0

  /** Null: the kind does not compact. */
  constructor(host: CompactorHost, compaction: Compaction | null) {
    this.#host = host
    this.#compaction = compaction
  }

  /** Called before a request. Returns a promise only if the request has to wait for the summary. */
  beforeRequest(): Promise<boolean> | null {
    this.#record()
    this.#beginIfLarge()
    return this.#writing !== null && this.#share() >= fullShare ? this.finish() : null
  }

  /** Called after a reply that ended its run: the conversation goes on later. */
  afterAnswer(): void {
    const { assignment } = this.#host.turn
    if (!assignment.isJob && assignment.parentId === null) this.#beginIfLarge()
  }

  /** Has a summary written that an order asks for, or records why there is none. */
  obey({ message: id, order }: OrderedEntry): void {
    if (order.do !== 'compact') return
    const refused = this.#refusal() ?? this.#begin(this.#compaction as Compaction, { ...order, id })
    if (refused !== null) this.#refuse(id, refused)
  }

  #refusal(): string | null {
    const { kind } = this.#host.turn.assignment
    if (this.#compaction === null) return `kind "${kind}" does not compact its conversations (compaction: false).`
    return this.#isSpent ? this.#spentText : null
  }

  get #spentText(): string {
    const { sessionSpent: spent, turn } = this.#host.journal
    const { allowed } = turn.session.spending
    return `its session has used ${spent.modelCalls} of ${allowed.modelCalls} model calls and ${spent.tokens} of ${allowed.tokens} tokens: raise them with troupe session limit.`
  }

  /** True if the session may make no further model call. */
  get #isSpent(): boolean {
    const { sessionSpent: spent, turn } = this.#host.journal
    const { allowed } = turn.session.spending
    return spent.modelCalls >= allowed.modelCalls || spent.tokens >= allowed.tokens
  }

  /** True if the session may make this number of requests (a summary, and the next request of a run), each of which reads the conversation as it is. */
  #affords(requests: number): boolean {
    const { container, sessionSpent: spent, turn } = this.#host.journal
    const { allowed } = turn.session.spending
    const tokens = requests * container.size.tokens
    return spent.modelCalls + requests <= allowed.modelCalls && spent.tokens + tokens <= allowed.tokens
  }

  /** The turn may have to end before: then the next one tries again. */
  #refuse(message: string, reason: string): void {
    const { journal, isOver, turn } = this.#host
    if (isOver || !mayRecord(turn)) return
    const model = this.#compaction?.model.id ?? ''
    journal.add([journal.entry('orderRefused', { message, reason })], {
      notes: [['compaction.failed', { model, reason }]],
    })
  }

  /** Waits for a summary that is being written. Resolves with true once it is recorded. */
  async finish(): Promise<boolean> {
    await this.#writing
    return this.#record()
  }

  /** Breaks off a summary that is being written, unless somebody asked for it. Its request counts as one that failed. */
  drop(): void {
    if (!this.#isByHand) this.#stop()
  }

  /** A turn hands its run on: records the summary if it is written, and breaks it off otherwise. If somebody asked for it, that order is still owed. */
  handOn(): void {
    this.#record()
    this.#stop()
  }

  #stop(): void {
    if (this.#breakOff === null) return
    this.#writing = null
    this.#breakOff.abort()
  }

  /** Resolves when no summary is being written. */
  get written(): Promise<void> {
    return this.#writing ?? Promise.resolve()
  }

  /** A summary is being written, or is written and not recorded. */
  get isPending(): boolean {
    return this.#writing !== null || this.#written !== null
  }

  /**
   * The provider says that the prompt of this request is too long. Returns true if it is shorter now, if the session may make no further request, or if
   * another node has to make it shorter.
   */
  async afterOverflow(request: SentPrompt): Promise<boolean> {
    if (this.#compaction === null || ++this.#overflows > overflowsMost) return false
    // What no provider has counted yet may be the longer part: instructions, tools, files of the context.
    this.#compaction.limit.learn(Math.max(this.#host.journal.container.size.tokens, tokensOf(request)))
    if (!this.isPending && this.#clears(this.#compaction)) return true
    // The next request is refused then, with words that name the limit.
    if (!this.isPending && this.#isSpent) return true
    // A turn that drains begins no summary: another node asks again, and has one written.
    if (this.#host.turn.isDraining) return true
    if (!this.isPending && !this.#hasFailed) this.#begin(this.#compaction)
    return this.finish()
  }

  #share(): number {
    const window = this.#compaction?.limit.tokens
    return window ? this.#host.journal.container.size.tokens / window : 0
  }

  #beginIfLarge(): void {
    if (this.#compaction === null || this.isPending || this.#hasFailed) return
    if (this.#share() < (this.#compaction.settings.at ?? atDefault) || this.#clears(this.#compaction)) return
    if (this.#affords(2)) this.#begin(this.#compaction)
  }

  /** Old results go first: that costs no model call, and they can often be read again. Returns false if it would make too little room. */
  #clears({ settings: { keep = keepDefault, clearResults = true } }: Compaction): boolean {
    const { journal } = this.#host
    const { container } = journal
    const boundary = clearResults ? container.history.boundary(keep, 1) : null
    if (boundary === null) return false
    const { results, bytes } = clearableIn(boundary.before)
    // A provider counts otherwise than this estimate, so two estimates are compared.
    const free = tokensIn(bytes) / Math.max(1, promptTokens(container.history.prompt()))
    if (results === 0 || free < clearShare) return false
    const tokensBefore = container.size.tokens
    const tokensAfter = Math.round(tokensBefore * (1 - free))
    const note: EventNote = ['context.cleared', { results, tokensBefore, tokensAfter }]
    journal.add([journal.entry('cleared', { firstKept: boundary.firstKept, results })], { notes: [note] })
    return true
  }

  /** Returns why no summary is being written now; null if one is. */
  #begin({ settings, model, limit }: Compaction, byHand?: ByHand): string | null {
    const { journal, turn } = this.#host
    const keep = byHand?.keepLast ?? settings.keep ?? keepDefault
    const boundary = journal.container.history.boundary(keep, byHand ? leastPartsByHand : leastParts)
    if (boundary === null) return tooShort(keep)
    if (!mayCall(turn)) return 'its node begins nothing more.'
    const { firstKept, before } = boundary
    const task = owedTask(journal.container, before.length)
    const cut: Cut = { firstKept, parts: before.length, ...(task !== null && { owed: task }) }
    const asked = byHand === undefined ? '' : `/${byHand.id}`
    const key = `${turn.assignment.workerId}/${journal.position.run}/handoff/${firstKept}${asked}`
    const order = byHand === undefined ? {} : { order: byHand.id }
    const breakOff = new AbortController()
    this.#breakOff = breakOff
    this.#isByHand = byHand !== undefined
    const signal = AbortSignal.any([turn.signal, breakOff.signal, AbortSignal.timeout(turn.host.policy.modelCallMs)])
    let requests = 0
    const written = writeHandoff(model, before, {
      instruction: [settings.instruction, byHand?.instruction].filter(Boolean).join('\n') || undefined,
      tokensMax: limit.tokens,
      key,
      signal,
      onRequest: () => {
        if (requests++ > 0 && this.#isSpent) throw new LimitError('budget_exceeded', this.#spentText)
        this.#request = new OpenRequest(journal, model)
      },
      onSent: () => this.#request?.sent(),
      onUsage: (usage) => this.#request?.used(usage),
    })
    const note = (end: Written) => {
      if (breakOff.signal.aborted) return
      this.#written = end
      this.#writing = null
      this.#breakOff = null
    }
    this.#writing = written.then(
      (handoff) => note({ ...order, ...cut, handoff }),
      (thrown: unknown) => {
        const error = toRuntimeError(thrown)
        this.#request?.failed(error)
        note({ ...order, error })
      },
    )
    return null
  }

  /** Returns true if the prompt begins with a new summary now. */
  #record(): boolean {
    const written = this.#written
    const { journal, isOver } = this.#host
    if (written === null || isOver || this.#compaction === null) return false
    this.#written = null
    if ('error' in written) {
      // The failure of a summary that somebody asked for says nothing of what the window will need.
      this.#hasFailed ||= written.order === undefined
      const [model, reason] = [this.#compaction.model.id, written.error.message]
      journal.log.warn('a conversation could not be compacted', { model, error: reason })
      if (written.order !== undefined) this.#refuse(written.order, reason)
      else journal.add([], { notes: [['compaction.failed', { model, reason }]] }, { lazy: true })
      return false
    }
    const { firstKept, parts, owed, handoff, order } = written
    const { container } = journal
    const { text, reply } = handoff
    const { model, usage } = reply
    const { inputTokens, outputTokens } = usage
    this.#request?.replied()
    journal.countSummary(this.#compaction.model.id, usage)
    const tokensBefore = container.size.tokens
    const kept = promptTokens(container.history.prompt().slice(parts))
    const tokensAfter = kept + promptTokens([{ role: 'user', content: [{ type: 'text', text }] }])
    const note: EventNote = ['context.compacted', { model, tokensBefore, tokensAfter, inputTokens, outputTokens }]
    const messages = container.history.messages.findIndex(({ id }) => id === firstKept)
    const asked = order === undefined ? {} : { order }
    const size = { ...(messages > 0 && { messages }), tokensBefore, tokensAfter }
    const summary = { text, ...(owed !== undefined && { owed }), firstKept, model, usage, ...size, ...asked }
    journal.add([journal.entry('compacted', summary)], { notes: [note] })
    return true
  }
}

function tokensOf({ instructions, messages, tools }: SentPrompt): number {
  return promptTokens(messages) + tokensIn(Buffer.byteLength(instructions) + Buffer.byteLength(JSON.stringify(tools)))
}

function tooShort(keep: number): string {
  return `its conversation is too short: before the last ${keep} parts that stay (messages of a user, replies, groups of results) there is too little for a summary.`
}

/** The task of the run as a model has to know it, unless its message stays in the prompt. `parts`: how many parts of the prompt do not stay. */
function owedTask({ run, history }: ContextContainer, parts: number): string | null {
  const text = run.inputText ?? run.failedText
  if (text === undefined || text.trim() === '') return null
  const stays = history
    .prompt()
    .slice(parts)
    .some(
      (part) =>
        part.role === 'user' && part.content.some((block) => block.type === 'text' && block.text.includes(text)),
    )
  if (stays) return null
  const what =
    run.inputText === undefined ? 'The last task, which failed and may be taken up again' : 'The task in progress'
  return `[${what}, word by word]\n${withoutSenderLines(text.slice(0, taskCharsMax))}`
}
