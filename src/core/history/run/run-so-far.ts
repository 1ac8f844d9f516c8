/** Duty: keep what a run of an agent has used and found out so far, and its start. Only the container changes it (context-container.ts). */
import { isObject } from '../../check/is-object.ts'
import type { ErrorCode } from '../../errors.ts'
import { parseExactJson } from '../../exact-json.ts'
import type { AnswerMessage, ResultMessage } from '../../worker/message/message.ts'
import type { Failure } from '../../worker/run/failure.ts'
import { tokensOf } from '../../worker/run/usage.ts'
import {
  type AssistantMessage,
  type ChildFacts,
  isCutText,
  type Json,
  textOf,
  type UserMessage,
} from '../chat/chat-message.ts'
import type { HookedEntry } from '../entry.ts'
import type { ReplyCalls } from './reply-calls.ts'

/** What the run in progress has used so far, and the facts that its tools have set. */
export interface RunSoFar {
  /** The text of the run's input. Undefined before the input. */
  readonly inputText: string | undefined
  /** That of the run before, if it failed: somebody may let it go on. */
  readonly failedText: string | undefined
  /** Replies of the model that were not blank. */
  readonly iterations: number
  /** How many blank replies there were in a row. */
  readonly blanks: number
  /** Texts that were cut off at their length, since the last reply that was complete, in order. They are the beginning of the next answer. */
  readonly cut: readonly string[]
  /** How many inputs steered it. */
  readonly steers: number
  /** How many answers did not fit the output of its kind. */
  readonly misfits: number
  /** Replies that took too long, and were answered in the conversation. */
  readonly interruptions: number
  /** Replies with a call whose arguments could not be read. */
  readonly brokenReplies: number
  /** How often in a row each tool has failed, for tools that failed the last time. */
  readonly failing: ReadonlyMap<string, number>
  /** When it began, or was last retried. Null before the first message of the run. */
  readonly startedAt: number | null
  readonly tokens: number
  /** Tool calls for which its replies asked. */
  readonly toolCalls: number
  readonly facts: Readonly<Record<string, Json>>
  /** The children in the order of their calls. */
  readonly children: readonly ChildFacts[]
  /** Iterations in a row that ended with the same errors. */
  readonly sameErrors: number
  /** The errors of the last finished iteration, one line each: the tool, and the error that the model saw. */
  readonly errors: string
  /** Why the run must fail. It is recorded with the result of the call that decided it. */
  readonly failure: Failure | null
  /** It had failed with this code, and somebody let it go on. */
  readonly retriedAfter: ErrorCode | null
  /** How often somebody let it go on after a failure. */
  readonly retries: number
  /** The iteration whose results were told to the hook `toolAfter`. */
  readonly resultsSeen: number
  /** How often the hook `stop` has asked for more. */
  readonly held: number
  /** How many processors have looked at its input. */
  readonly processed: number
  /** How often a processor has waited for somebody. */
  readonly suspensions: number
  /** The ask for which a processor waits, and what was answered. */
  readonly openAsk: string | null
  readonly answer: AnswerMessage | null
}

/** The same, as the container counts it; and what only the container knows. */
export interface MutableRun extends Counted<Omit<RunSoFar, 'cut' | 'facts' | 'children'>> {
  number: number
  /** The parsed input, once somebody has read it. Parsed JSON may take many times the memory of its text. */
  input: Json | undefined
  /** The last message of a user that somebody pushed before the run. It is no input of a run that has one of its own. */
  pushed: UserMessage | null
  /** An input has steered it since its last reply. */
  isSteered: boolean
  cut: string[]
  facts: Record<string, Json>
  children: ChildFacts[]
}

type Counted<Run> = { -readonly [Name in keyof Run]: Run[Name] }

export function noteReply(run: MutableRun, message: AssistantMessage): void {
  run.iterations++
  run.isSteered = false
  run.blanks = 0
  if (message.interrupted) run.interruptions++
  if (isCutText(message)) run.cut.push(textOf(message.content))
  else run.cut = []
  run.tokens += tokensOf(message.usage)
  for (const { type } of message.content) if (type === 'tool-call') run.toolCalls++
}

/** What is known of a child that has reported. `given`: the names of the facts that the child got. */
export function childOf(result: ResultMessage, given: readonly string[]): ChildFacts {
  const { from: workerId, name, workerKind: kind, status } = result
  const failure = result.failure?.message
  // A child's reply may be any value, and so may its `facts`.
  const facts = (result.value as { facts?: unknown } | null)?.facts
  const own = isObject(facts) ? (facts as Record<string, Json>) : {}
  return { workerId, name, kind, status, facts: own, given, ...(failure !== undefined && { failure }) }
}

/** Notes what a hook decided. */
export function noteHooked(run: MutableRun, { hook, did, ask }: HookedEntry): void {
  if (hook === 'toolAfter') run.resultsSeen = run.iterations
  else if (hook === 'stop') run.held++
  if (hook !== 'prompt' || did === 'abort') return
  run.openAsk = ask ?? null
  run.answer = null
  if (did === 'suspend') run.suspensions++
  else run.processed++
}

/** The failing tools of nearly all runs. Nothing is added to it. */
const noFailures: ReadonlyMap<string, number> = new Map()

/** `failedText`: the text of the input of the run before, if that failed. */
export function newRun(number: number, failedText?: string): MutableRun {
  return {
    number,
    inputText: undefined,
    failedText,
    input: undefined,
    pushed: null,
    iterations: 0,
    blanks: 0,
    cut: [],
    steers: 0,
    isSteered: false,
    misfits: 0,
    interruptions: 0,
    brokenReplies: 0,
    failing: noFailures,
    startedAt: null,
    tokens: 0,
    toolCalls: 0,
    facts: emptyFacts(),
    children: [],
    sameErrors: 0,
    errors: '',
    failure: null,
    retriedAfter: null,
    retries: 0,
    resultsSeen: 0,
    held: 0,
    processed: 0,
    suspensions: 0,
    openAsk: null,
    answer: null,
  }
}

/** What is counted anew if a failed run goes on, because it could fail the run again. */
export const countedAnew = {
  misfits: 0,
  interruptions: 0,
  brokenReplies: 0,
  failing: noFailures,
  sameErrors: 0,
  errors: '',
} as const

/** Counts an iteration whose calls all have their results. Compares its errors with those of the iteration before. */
export function countResults(run: MutableRun, { errors, results }: Pick<ReplyCalls, 'errors' | 'results'>): void {
  run.sameErrors = errors === '' ? 0 : errors === run.errors ? run.sameErrors + 1 : 1
  run.errors = errors
  if (errors === '' && run.failing.size === 0) return
  if (results.some(({ isBroken }) => isBroken)) run.brokenReplies++
  const failing = new Map(run.failing)
  for (const { toolName, status } of results) {
    if (status === 'error') failing.set(toolName, (failing.get(toolName) ?? 0) + 1)
    else if (status === 'ok') failing.delete(toolName)
  }
  run.failing = failing
}

/** Notes that the run begins with this input, or that the input steers it: then another answer is wanted, and the model may get out of its errors. */
export function noteInput(run: MutableRun, { when, content, at }: UserMessage): void {
  run.inputText ??= textOf(content)
  run.startedAt ??= at
  if (when === undefined) return
  run.steers++
  run.isSteered = true
  run.cut = []
  run.sameErrors = 0
  run.errors = ''
}

// Tools and models choose the names of facts: "__proto__" must be a name like any other.
export function emptyFacts(): Record<string, Json> {
  return Object.create(null) as Record<string, Json>
}

/** An input that was JSON is in the conversation as its text. */
export function inputOf(text: string): Json {
  if (!/^\s*[[{"\d\-tfn]/.test(text)) return text
  try {
    return parseExactJson(text)
  } catch {
    return text
  }
}
