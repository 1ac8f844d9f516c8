/**
 * Duty: hold what an agent knows: its prompt, its conversation, the metadata of its session, and the pending turn (what the model asked for and
 * is not answered yet). Everything except the prompt is built from the entries of the worker's history. The same entries give the same
 * container in any process, after any crash.
 * CONTAINER-1 `apply` is the only way to add entries. It costs the same however long the history is.
 * CONTAINER-2 An entry of a type that this version does not know is passed over and counted.
 */

import type { ToolSpec } from '../definition/model.ts'
import type { ErrorCode } from '../errors.ts'
import type { AnswerMessage, ResultMessage } from '../worker/message/message.ts'
import { tokensOf } from '../worker/run/usage.ts'
import { readChatMessage } from './chat/chat-codec.ts'
import {
  type AssistantMessage,
  type ChatMessage,
  type Json,
  type ToolResultMessage,
  textOf,
  type UserMessage,
} from './chat/chat-message.ts'
import type { Action } from './chat-context.ts'
import {
  type CompactedEntry,
  type Entry,
  type FailedEntry,
  type HookedEntry,
  isGiven,
  type OrderedEntry,
  type RetriedEntry,
  type StepEntry,
} from './entry.ts'
import { type ConversationHistory, NotedHistory } from './history.ts'
import { ContextSize } from './prompt/context-size.ts'
import { leftOutNote } from './prompt/left-out.ts'
import { handoffText, type InputBlocks } from './prompt/prompt-fold.ts'
import { Shortened } from './prompt/shortened.ts'
import { BackgroundTasks } from './run/background-tasks.ts'
import { type FailedRun, refusals, runAgain } from './run/failed-run.ts'
import { cancelledText } from './run/open-calls.ts'
import type { PendingTurn } from './run/pending-turn.ts'
import { ReplyCalls } from './run/reply-calls.ts'
import {
  childOf,
  countResults,
  emptyFacts,
  inputOf,
  newRun,
  noteHooked,
  noteInput,
  noteReply,
  type RunSoFar,
} from './run/run-so-far.ts'

export interface SessionMetadata {
  readonly sessionId: string
  readonly workerId: string
  readonly name: string
  readonly kind: string
  readonly parentId: string | null
  readonly depth: number
}

/** The tasks of nearly all workers. Nothing is added to it. */
const noTasks = new BackgroundTasks()

export class ContextContainer {
  /** The system prompt. It comes from code and not from the history, so it is set before each model call. */
  agentPrompt = ''
  /** What was said. What is pushed here counts for the container as what is pushed to the container. */
  readonly history: ConversationHistory = new NotedHistory((message) => this.#say(message))
  readonly session: SessionMetadata
  /** How large the next prompt is. */
  readonly size = new ContextSize()
  #run = newRun(0)
  #calls = new ReplyCalls(null)
  #passedFacts: Record<string, Json> = emptyFacts()
  #passedOver = 0
  #background = noTasks
  // An empty conversation may begin with the model.
  #isRunOpen = true
  /** How many blocks the open user message had before this run's first message. */
  #blocksBefore = 0
  /** Where the input stands in the user message that is open. */
  #inputAt: InputBlocks | null = null
  #isSpawnHooked = false
  /** What prompts leave out from the next input on. Until then the run may be taken up again with all that it has. */
  #leftOut: { readonly code: ErrorCode; readonly hasReplied: boolean; readonly isSteered: boolean } | null = null
  #firstText: string | undefined
  /** The run that began with this first text. */
  #firstRun = 0
  #failedRun: FailedRun | null = null
  readonly #shortened = new Shortened(this.history, this.size)
  #owedOrder: OrderedEntry | null = null

  constructor(session: SessionMetadata) {
    this.session = session
  }

  get run(): RunSoFar {
    return this.#run
  }

  get pending(): PendingTurn {
    const { started, delegated, asked, approvals, decided, subCalls, childResults } = this.#calls
    return { calls: this.history.openCalls(), started, delegated, asked, approvals, decided, subCalls, childResults }
  }

  /** Results of the calls of the newest reply, in the order in which they came. */
  get lastResults(): readonly ToolResultMessage[] {
    return this.#calls.results
  }

  /** The newest reply of the run in progress. */
  get lastReply(): AssistantMessage | null {
    return this.#calls.reply
  }

  /** Facts that the worker got from its parent, and facts of this run. */
  get facts(): Readonly<Record<string, Json>> {
    return Object.assign(emptyFacts(), this.#passedFacts, this.#run.facts)
  }

  /** Its detached children. */
  get background(): BackgroundTasks {
    return this.#background
  }

  /** What comes next. It is computed from the pending turn and never stored. */
  get action(): Action {
    const [call] = this.history.openCalls()
    if (call !== undefined) return { callTool: call.toolName }
    return this.#isRunOpen ? 'continue' : 'stop'
  }

  /** The same as `history`, by the name that the design has for it. */
  get conversationHistory(): ConversationHistory {
    return this.history
  }

  /** Adds a message that comes from no worker's history. For contexts made by hand, and for converters. Throws an InputError if it is none. */
  push(message: ChatMessage): void {
    this.history.push(message)
  }

  /** An estimate from the number of bytes, with the prompt. A provider will count differently. */
  estimatedTokens(tools: readonly ToolSpec[] = []): number {
    return this.history.estimatedTokens(tools, this.agentPrompt)
  }

  /** What a model gets as its system prompt: the prompt, and the system messages of the conversation. */
  get instructions(): string {
    return [this.agentPrompt, ...this.history.systemTexts].filter((text) => text.trim() !== '').join('\n\n')
  }

  /** The conversation in the form that other libraries use: the prompt first, as a system message. */
  toMessages(): ChatMessage[] {
    const said = this.history.toVec()
    return this.agentPrompt === '' ? said : [{ type: 'system', id: 'prompt', at: 0, text: this.agentPrompt }, ...said]
  }

  /** Entries that this version could not read. */
  get passedOver(): number {
    return this.#passedOver
  }

  /** An order to compact that was received and not carried out yet. */
  get owedOrder(): OrderedEntry | null {
    return this.#owedOrder
  }

  /** True if a summary, or notes, stand for something in its prompts. */
  get isCompacted(): boolean {
    return this.#shortened.isAny
  }

  /** True once the hook `spawn` of its kind has been called. */
  get isSpawnHooked(): boolean {
    return this.#isSpawnHooked
  }

  /** The input of the worker's first run that was not refused. Null before that run. */
  get firstInput(): Json {
    return this.#firstText === undefined ? null : inputOf(this.#firstText)
  }

  /** The input of the run in progress. Null between runs. */
  get input(): Json {
    const run = this.#run
    if (run.inputText === undefined) return null
    run.input ??= inputOf(run.inputText)
    return run.input
  }

  apply(entry: Entry): void {
    if (typeof entry.run === 'number' && entry.run > this.#run.number) this.#begin(entry.run)
    switch (entry.type) {
      case 'received':
        if (entry.message.kind === 'result') this.#childReported(entry.message)
        else if (entry.message.kind === 'answer') this.#personAnswered(entry.message)
        return
      case 'delegated':
        if (entry.spawned.some(({ detached }) => detached)) this.#begunBackground().started(entry.spawned)
        this.#calls.apply(entry)
        return
      case 'toolStarted':
      case 'asked':
      case 'askWithdrawn':
      case 'attemptFailed':
      case 'callsDecided':
      case 'subCallStarted':
      case 'subCall':
        this.#calls.apply(entry)
        return
      case 'hooked':
        this.#hooked(entry)
        return
      case 'blank':
        this.#run.blanks++
        this.#run.tokens += tokensOf(entry.usage)
        return
      case 'compacted':
        this.#compacted(entry)
        return
      case 'cleared':
        if (!this.#shortened.clear(entry.firstKept)) this.#passedOver++
        return
      case 'expanded':
        this.#shortened.expand()
        return
      case 'ordered':
        if (entry.order.do === 'compact') this.#owedOrder = entry
        else if (entry.order.do === 'run') this.#runOn(entry)
        return
      case 'configured':
      case 'orderRefused':
        if (this.#owedOrder?.message === entry.message) this.#owedOrder = null
        return
      case 'undone':
      case 'redone':
        // Whoever reads the history leaves out what no longer counts (undone.ts).
        return
      case 'failed':
        this.#failed(entry)
        return
      case 'retried':
        this.#retried(entry)
        return
      case 'cancelled':
      case 'completed':
        if (entry.type === 'cancelled') this.#owedOrder = null
        this.#end()
        return
      default:
        this.#say(entry)
    }
  }

  #personAnswered(message: AnswerMessage): void {
    if (message.id === this.#run.openAsk) this.#run.answer = message
    else this.#calls.personAnswered(message)
  }

  #hooked(entry: HookedEntry): void {
    noteHooked(this.#run, entry)
    if (entry.hook === 'spawn') this.#isSpawnHooked = true
    if (entry.content === undefined || this.#inputAt === null) return
    const isFirst = this.#run.number === this.#firstRun
    this.#run.inputText = textOf(entry.content)
    this.#run.input = undefined
    if (isFirst) this.#firstText = this.#run.inputText
    this.#inputAt = this.history.replaceInput(this.#inputAt, entry.content)
    this.size.restart(this.history.prompt())
  }

  #say(entry: ChatMessage | StepEntry): void {
    const message = readChatMessage(entry)
    if (message === null) {
      this.#passedOver++
      return
    }
    const isPushed = (entry as { readonly pushed?: true }).pushed === true
    const comesFirst = message.type === 'user' && !message.nudge && this.#run.inputText === undefined
    if (comesFirst) {
      this.#failedRun = null
      this.#leaveOut()
      if (this.#run.pushed === null) this.#blocksBefore = this.history.openBlocks
    }
    const from = this.history.openBlocks
    this.history.add(message)
    if (comesFirst)
      this.#inputAt = { from, to: this.history.openBlocks, sender: message.from, context: message.context }
    this.size.add(message)
    if (message.type === 'user') this.#isRunOpen = true
    if (message.type === 'user' && message.nudge) {
      if (message.about === 'output') this.#run.misfits++
      if (message.ended) this.#begunBackground().told(message.ended)
    } else if (message.type === 'user') {
      if (isPushed) this.#run.pushed = message
      else this.#noteInput(message, isGiven(entry))
      for (const [name, value] of Object.entries(message.facts ?? {})) this.#passedFacts[name] = value
    } else if (message.type === 'assistant' && isPushed) this.#run.pushed = null
    else if (message.type === 'assistant') this.#replied(message)
    else if (message.type === 'toolResult') this.#answered(message)
  }

  #begunBackground(): BackgroundTasks {
    if (this.#background === noTasks) this.#background = new BackgroundTasks()
    return this.#background
  }

  #noteInput(message: UserMessage, isGivenAtStart = false): void {
    noteInput(this.#run, message)
    if (this.#firstText !== undefined || isGivenAtStart) return
    this.#firstText = this.#run.inputText
    this.#firstRun = this.#run.number
  }

  /** A run without an input of its own answers what is there. What was pushed last stands for its input. */
  #runOn({ at }: OrderedEntry): void {
    this.#isRunOpen = true
    this.#run.startedAt ??= at
    if (this.#run.pushed !== null) this.#noteInput(this.#run.pushed)
  }

  #compacted({ firstKept, text, owed, usage, order }: CompactedEntry): void {
    if (order !== undefined && this.#owedOrder?.message === order) this.#owedOrder = null
    this.#run.tokens += tokensOf(usage)
    const texts = [handoffText(text), ...(owed === undefined ? [] : [owed])]
    if (!this.#shortened.compact(firstKept, texts)) this.#passedOver++
  }

  #replied(message: AssistantMessage): void {
    // The model took all of the prompt. Further inputs stand behind its results.
    this.#leftOut = null
    this.#blocksBefore = 0
    noteReply(this.#run, message)
    this.#calls = new ReplyCalls(message)
  }

  #answered(message: ToolResultMessage): void {
    for (const [name, value] of Object.entries(message.facts ?? {})) this.#run.facts[name] = value
    this.#calls.answered(message)
    this.#run.failure ??= message.failure ?? null
    if (this.history.openCount > 0) return
    countResults(this.#run, this.#calls)
  }

  #childReported(result: ResultMessage): void {
    this.#calls.childResults.set(result.call, result)
    const given = this.#calls.factsGiven(result.call)
    this.#run.children.push(childOf(result, given))
  }

  /** The run goes on with all that it had. The failure that ended it no longer counts. */
  #retried({ run: number, reopened = [], at }: RetriedEntry): void {
    const failed = this.#failedRun
    if (failed?.run.number !== number) {
      this.#passedOver++
      return
    }
    const again = new Set(reopened)
    this.#failedRun = null
    this.#leftOut = null
    this.#isRunOpen = true
    this.#run = runAgain(failed, at)
    this.#calls = failed.calls.without(again)
    this.#firstText = failed.firstText
    this.history.reopenCalls(again)
  }

  /** A refused input does not count as the first one. The next input becomes the first. */
  #failed({ failure, leftOut }: FailedEntry): void {
    this.#failedRun = { run: this.#run, calls: this.#calls, firstText: this.#firstText, code: failure.code }
    const { iterations, isSteered } = this.#run
    const isRefused = refusals.has(failure.code) && iterations === 0
    if (leftOut || isRefused) this.#leftOut = { code: failure.code, hasReplied: iterations > 0, isSteered }
    if (isRefused && this.#run.number === this.#firstRun) this.#firstText = undefined
    this.#end(this.#run.inputText)
  }

  #leaveOut(): void {
    if (this.#leftOut === null) return
    const { code, hasReplied, isSteered } = this.#leftOut
    this.#leftOut = null
    if (hasReplied) this.history.leaveOutResults(leftOutNote('results', code))
    if (!hasReplied || isSteered) this.history.leaveOutInput(this.#blocksBefore, leftOutNote('input', code))
  }

  #begin(number: number, failedText?: string): void {
    this.#run = newRun(number, failedText)
    this.#calls = new ReplyCalls(null)
  }

  #end(failedText?: string): void {
    this.#isRunOpen = false
    this.history.closeCalls('cancelled', cancelledText)
    this.#begin(this.#run.number + 1, failedText)
  }
}
