/** Duty: what a run of an agent has used and found out so far, and its start. Only the container changes it (context-container.ts). */
import type { ErrorCode } from '../../errors.ts'
import { parseExactJson } from '../../exact-json.ts'
import type { Failure } from '../../worker/failure.ts'
import type { AnswerMessage } from '../../worker/message.ts'
import type { ChildFacts, Json } from '../chat/chat-message.ts'
import type { HookedEntry } from '../entry.ts'

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
  /** How many processors have looked at its input. */
  readonly processed: number
  /** How often a processor has waited for somebody. */
  readonly suspensions: number
  /** The ask for which a processor waits, and what was answered. */
  readonly openAsk: string | null
  readonly answer: AnswerMessage | null
}

export interface MutableRun {
  number: number
  inputText: string | undefined
  /** The parsed input, once somebody has read it. Parsed JSON may take many times the memory of its text. */
  input: Json | undefined
  iterations: number
  blanks: number
  cut: string[]
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
  processed: number
  suspensions: number
  openAsk: string | null
  answer: AnswerMessage | null
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

export function newRun(number: number): MutableRun {
  return {
    number,
    inputText: undefined,
    input: undefined,
    iterations: 0,
    blanks: 0,
    cut: [],
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
