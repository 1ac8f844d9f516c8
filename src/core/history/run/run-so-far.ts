/** Duty: what a run of an agent has used and found out so far, and its start. Only the container changes it (context-container.ts). */
import type { ErrorCode } from '../../errors.ts'
import { parseExactJson } from '../../exact-json.ts'
import type { Failure } from '../../worker/failure.ts'
import { type ChildFacts, type Json, textOf, type UserMessage } from '../chat/chat-message.ts'

/** What the run in progress has used so far, and the facts that its tools have set. */
export interface RunSoFar {
  /** The text of its input. Undefined before it. */
  readonly inputText: string | undefined
  /** Replies of the model that were not blank. */
  readonly iterations: number
  /** Blank replies in a row. */
  readonly blanks: number
  /** Texts that were cut off at their length since the last reply that was not, in order. They are the beginning of the next answer. */
  readonly cut: readonly string[]
  /** How many inputs steered it. */
  readonly steers: number
  /** Answers that did not fit the output of its kind. */
  readonly misfits: number
  /** When it began, or was last retried. Null before its first message. */
  readonly startedAt: number | null
  readonly tokens: number
  /** Tool calls for which its replies asked. */
  readonly toolCalls: number
  readonly facts: Readonly<Record<string, Json>>
  /** In call order. */
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
}

export interface MutableRun {
  number: number
  inputText: string | undefined
  /** The parsed input, once somebody has read it. Parsed JSON may take many times the memory of its text. */
  input: Json | undefined
  iterations: number
  blanks: number
  cut: string[]
  steers: number
  misfits: number
  startedAt: number | null
  tokens: number
  toolCalls: number
  facts: Record<string, Json>
  children: ChildFacts[]
  sameErrors: number
  errors: string
  failure: Failure | null
  retriedAfter: ErrorCode | null
  retries: number
  resultsSeen: number
  held: number
}

export function newRun(number: number): MutableRun {
  return {
    number,
    inputText: undefined,
    input: undefined,
    iterations: 0,
    blanks: 0,
    cut: [],
    steers: 0,
    misfits: 0,
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
  }
}

/** The run begins with this input, or it steers the run: then another answer is wanted, and the model may get out of its errors. */
export function noteInput(run: MutableRun, { when, content, at }: UserMessage): void {
  run.inputText ??= textOf(content)
  run.startedAt ??= at
  if (when === undefined) return
  run.steers++
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
