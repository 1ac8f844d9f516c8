/**
 * Duty: what an agent knows: its agent prompt, its conversation, the metadata of its session, and the pending turn (what the model
 * asked for and is not answered yet). All but the prompt is a fold over the entries of the worker's history: the same entries give
 * the same container, in any process, after any crash.
 * C-a `apply` is the only way in; it costs the same however long the history is. C-b An entry of a type this version does not know
 *     is passed over and counted.
 */

import { isObject } from '../check/is-object.ts'
import type { ToolSpec } from '../definition/model.ts'
import type { ErrorCode } from '../errors.ts'
import type { Failure } from '../worker/failure.ts'
import type { ResultMessage } from '../worker/message.ts'
import { tokensOf } from '../worker/usage.ts'
import { readChatMessage } from './chat-codec.ts'
import {
  type AssistantMessage,
  type ChatMessage,
  type ChildFacts,
  type Json,
  type ToolCallBlock,
  type ToolResultMessage,
  textOf,
} from './chat-message.ts'
import type { DelegatedEntry, Entry, FailedEntry } from './entry.ts'
import { ConversationHistory } from './history.ts'
import { cancelledText } from './open-calls.ts'

export interface SessionMetadata {
  readonly sessionId: string
  readonly workerId: string
  readonly name: string
  readonly kind: string
  readonly parentId: string | null
  readonly depth: number
}

/** What the newest assistant message asked for and what became of it so far. */
export interface PendingTurn {
  /** Calls without a result, in call order. */
  readonly calls: readonly ToolCallBlock[]
  /** `once` calls that were recorded as started. */
  readonly started: ReadonlySet<string>
  /** Calls that became children. */
  readonly delegated: ReadonlyMap<string, DelegatedEntry['spawned']>
  /** Results of those children that were recorded so far, by spawning call. */
  readonly childResults: ReadonlyMap<number, ResultMessage>
}

/** What the run in progress has used and established so far. */
export interface RunSoFar {
  /** Replies of the model that were no blanks. */
  readonly iterations: number
  /** Blank replies in a row. */
  readonly blanks: number
  readonly tokens: number
  readonly facts: Readonly<Record<string, Json>>
  /** In call order. */
  readonly children: readonly ChildFacts[]
  /** Iterations in a row that ended with the same errors. */
  readonly sameErrors: number
  /** Those of the last iteration that ended, a line for each: the tool, and what the model was told. */
  readonly errors: string
  /** Why the run is to fail: recorded with the result of the call that decided it. */
  readonly failure: Failure | null
}

/** Continue with the model, stop, or a tool is to be called. */
export type FlowAction = 'continue' | 'stop' | { readonly callTool: string }

interface MutableRun {
  number: number
  inputText: string | undefined
  /** What the text says, once somebody asked: of JSON this may take many times as much memory. */
  input: Json | undefined
  iterations: number
  blanks: number
  tokens: number
  facts: Record<string, Json>
  children: ChildFacts[]
  sameErrors: number
  errors: string
  failure: Failure | null
}

/** Why a run fails whose input does not fit, or names no folder that it may have. */
const refusals: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['input_invalid', 'grant_exceeded'])

export class ContextContainer {
  /** The system prompt; a field and no message, and set by whoever runs the agent, since it is code and not history. */
  agentPrompt = ''
  readonly history = new ConversationHistory()
  readonly session: SessionMetadata
  #run = newRun(0)
  #lastReply: AssistantMessage | null = null
  #started = new Set<string>()
  #delegated = new Map<string, DelegatedEntry['spawned']>()
  #childResults = new Map<number, ResultMessage>()
  /** Results of the calls of the newest assistant message. */
  #results: ToolResultMessage[] = []
  #given: Record<string, Json> = emptyFacts()
  #passedOver = 0
  // An empty context waits for what the model says first.
  #isRunOpen = true
  #firstText: string | undefined
  /** The run that it began. */
  #firstRun = 0

  constructor(session: SessionMetadata) {
    this.session = session
  }

  get run(): RunSoFar {
    return this.#run
  }

  get pending(): PendingTurn {
    return {
      calls: this.history.openCalls(),
      started: this.#started,
      delegated: this.#delegated,
      childResults: this.#childResults,
    }
  }

  /** The newest reply of the run in progress. */
  get lastReply(): AssistantMessage | null {
    return this.#lastReply
  }

  /** Facts that the worker was given, and those of this run. */
  get facts(): Readonly<Record<string, Json>> {
    return Object.assign(emptyFacts(), this.#given, this.#run.facts)
  }

  /** What comes next: a projection of the pending turn, never stored. */
  get action(): FlowAction {
    const [call] = this.history.openCalls()
    if (call !== undefined) return { callTool: call.toolName }
    return this.#isRunOpen ? 'continue' : 'stop'
  }

  /** Something is said by someone who is no worker's history: for contexts that are made by hand, and converters. */
  push(message: ChatMessage): void {
    this.#say(message)
  }

  /** Called input, not user: another worker may have sent it. */
  pushInput(text: string, stamp: { readonly id: string; readonly at: number }, from?: string): void {
    this.push({ type: 'user', ...stamp, content: [{ type: 'text', text }], ...(from !== undefined && { from }) })
  }

  /** Bytes of prompt and messages over four; an estimate, not what a provider will count. */
  estimatedTokens(tools: readonly ToolSpec[] = []): number {
    return this.history.estimatedTokens(tools)
  }

  /** The prompt first, as a system message, then what was said: how others keep a conversation. */
  toMessages(): ChatMessage[] {
    const said = this.history.toVec()
    return this.agentPrompt === '' ? said : [{ type: 'system', id: 'prompt', at: 0, text: this.agentPrompt }, ...said]
  }

  /** Entries that this version could not read. */
  get passedOver(): number {
    return this.#passedOver
  }

  /** The input of the worker's first run that was not refused, and that of the run in progress; null before it. */
  get firstInput(): Json {
    return this.#firstText === undefined ? null : inputOf(this.#firstText)
  }

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
        return
      case 'toolStarted':
        this.#started.add(entry.toolCallId)
        return
      case 'delegated':
        this.#delegated.set(entry.toolCallId, entry.spawned)
        return
      case 'blank':
        this.#run.blanks++
        this.#run.tokens += tokensOf(entry.usage)
        return
      case 'failed':
        this.#failed(entry)
        return
      case 'completed':
      case 'cancelled':
        this.#end()
        return
      case 'attemptFailed':
        for (const toolCallId of entry.toolCallIds ?? []) this.#started.delete(toolCallId)
        return
      default:
        this.#say(entry)
    }
  }

  #say(entry: unknown): void {
    const message = readChatMessage(entry)
    if (message === null) {
      this.#passedOver++
      return
    }
    this.history.push(message)
    if (message.type === 'user') {
      this.#isRunOpen = true
      this.#run.inputText ??= textOf(message.content)
      if (this.#firstText === undefined) {
        this.#firstText = this.#run.inputText
        this.#firstRun = this.#run.number
      }
      for (const [name, value] of Object.entries(message.facts ?? {})) this.#given[name] = value
    } else if (message.type === 'assistant') this.#replied(message)
    else if (message.type === 'toolResult') this.#answered(message)
  }

  #replied(message: AssistantMessage): void {
    const run = this.#run
    run.iterations++
    run.blanks = 0
    run.tokens += tokensOf(message.usage)
    this.#clearPending()
    this.#lastReply = message
  }

  #answered(message: ToolResultMessage): void {
    for (const [name, value] of Object.entries(message.facts ?? {})) this.#run.facts[name] = value
    this.#started.delete(message.toolCallId)
    this.#results.push(message)
    this.#run.failure ??= message.failure ?? null
    if (this.history.openCount > 0) return
    // The iteration is over: did it end with the very errors of the one before?
    const errors = this.#results
      .filter(({ status }) => status === 'error')
      .map(({ toolName, output }) => `${toolName}: ${JSON.stringify(output.value)}`)
      .sort()
      .join('\n')
    this.#run.sameErrors = errors === '' ? 0 : errors === this.#run.errors ? this.#run.sameErrors + 1 : 1
    this.#run.errors = errors
  }

  #childReported(result: ResultMessage): void {
    this.#childResults.set(result.call, result)
    const notes = [...this.#delegated.values()].flat()
    const given = notes.find(({ call }) => call === result.call)?.facts ?? []
    const { from: workerId, name, workerKind: kind, status } = result
    const facts = factsOf(result.value)
    const failure = result.failure?.message
    this.#run.children.push({ workerId, name, kind, status, facts, given, ...(failure !== undefined && { failure }) })
  }

  /** Nothing was begun with an input that was refused: the next one is the first. */
  #failed({ failure }: FailedEntry): void {
    const isRefused = refusals.has(failure.code) && this.#run.iterations === 0
    if (isRefused && this.#run.number === this.#firstRun) this.#firstText = undefined
    this.#end()
  }

  #begin(number: number): void {
    this.#run = newRun(number)
    this.#clearPending()
  }

  #end(): void {
    this.#isRunOpen = false
    this.history.closeCalls('cancelled', cancelledText)
    this.#begin(this.#run.number + 1)
  }

  #clearPending(): void {
    this.#lastReply = null
    this.#started = new Set()
    this.#delegated = new Map()
    this.#childResults = new Map()
    this.#results = []
  }
}

/** What a child replied may be anything, and so may what it calls its facts. */
function factsOf(value: unknown): Record<string, Json> {
  const facts = (value as { facts?: unknown } | null)?.facts
  return isObject(facts) ? (facts as Record<string, Json>) : {}
}

// Names of facts come from tools and models: "__proto__" must be a name like any other.
function emptyFacts(): Record<string, Json> {
  return Object.create(null) as Record<string, Json>
}

function newRun(number: number): MutableRun {
  return {
    number,
    inputText: undefined,
    input: undefined,
    iterations: 0,
    blanks: 0,
    tokens: 0,
    facts: emptyFacts(),
    children: [],
    sameErrors: 0,
    errors: '',
    failure: null,
  }
}

/** An input that was JSON came into the conversation as its text. */
function inputOf(text: string): Json {
  if (!/^\s*[[{"\d\-tfn]/.test(text)) return text
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
