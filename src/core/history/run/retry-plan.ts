/**
 * Duty: decide where a failed run goes on, from the entries of that run: its model call, tool calls of its newest reply, or the message whose
 * receive failed. Pure: it reads entries, and makes the entries that the history gets.
 * RETRY-PLAN-1 No recorded step is repeated. Only the step that failed runs again, with the calls that the end of the run had cancelled.
 * RETRY-PLAN-2 A `once` call of unknown outcome is never decided here: a person decides.
 * RETRY-PLAN-3 If the model was to read the results next, the calls are over, even those that a message interrupted, which count as cancelled or unknown.
 * RETRY-PLAN-4 A call that started children keeps the result that the end of the run gave it: its children were cancelled.
 */

import { encodeRepeated } from '../../worker/message/message.ts'
import type { Failure } from '../../worker/run/failure.ts'
import type { RunState } from '../../worker/run/run-state.ts'
import { readChatMessage } from '../chat/chat-codec.ts'
import { type ToolCallBlock, type ToolResultMessage, toolCallsOf } from '../chat/chat-message.ts'
import { type Entry, entryJson, type ReceivedEntry, type SpawnNote, type StepEntry } from '../entry.ts'
import type { UnknownDecision } from './unknown-decision.ts'

export interface FailedRunFacts {
  readonly run: number
  /** The epoch of the entries that are made. */
  readonly epoch: number
  readonly at: number
  /** Position of the next entry in the history. */
  readonly next: number
  /** All entries of the run, in order. */
  readonly entries: readonly Entry[]
}

export interface RetryPlan {
  readonly entries: readonly string[]
  /** The message that is received again, as a mail; empty for an agent. */
  readonly mail: string
  /** How many children the run has spawned. */
  readonly calls: number
  /** How many steps of a handler it has recorded. */
  readonly steps: number
  readonly runState: RunState
  /** The step at which the run goes on, in words. */
  readonly step: string
}

export type RetryVerdict =
  | { readonly kind: 'plan'; readonly plan: RetryPlan }
  /** Somebody must decide about these calls. */
  | { readonly kind: 'undecided'; readonly calls: readonly string[] }
  /** There was a decision, and no call needs one. */
  | { readonly kind: 'nothing_to_decide' }
  /** The run received nothing: its message is a dead letter. */
  | { readonly kind: 'dead_letter' }
  /** hasLetter: a dead letter has its message. */
  | { readonly kind: 'impossible'; readonly why: string; readonly hasLetter?: true }

export function planRetry(facts: FailedRunFacts, decision?: UnknownDecision): RetryVerdict {
  const { entries } = facts
  const failed = entries.findLast((entry) => entry.type === 'failed')
  if (failed === undefined) return { kind: 'impossible', why: 'its history does not say how it failed' }
  const first = entries.find(beginsAgentRun)
  if (first?.type === 'ordered' && failed.failure.code === 'input_invalid')
    return { kind: 'impossible', why: 'nothing was there that it could have answered' }
  if (first !== undefined) return planAgent(facts, failed.failure, decision)
  return decision === undefined ? planHandler(facts) : { kind: 'nothing_to_decide' }
}

/** The run of an agent begins with an input, or with an order to run on what is there. */
function beginsAgentRun(entry: Entry): boolean {
  if (entry.type === 'user') return !entry.pushed
  return entry.type === 'ordered' && entry.order.do === 'run'
}

/** This also plans for an agent that received nothing. */
function planHandler(facts: FailedRunFacts): RetryVerdict {
  const received = facts.entries.filter((entry) => entry.type === 'received')
  const last = facts.entries.findLast((entry) => entry.type !== 'failed')
  if (last?.type !== 'received') return planOfLetter(facts.entries)
  const lost = lostBy(received)
  if (lost !== null) return { kind: 'impossible', why: lost }
  const { message } = last
  if (message.kind === 'answer' && message.fails !== undefined)
    return { kind: 'impossible', why: `ask ${message.id} has expired, and nobody can answer it any more` }
  return planOf(facts, {
    entry: { messageId: message.id },
    mail: encodeRepeated(message),
    runState: 'ProcessingUserMessage',
    step: `message ${message.id} (${message.kind})`,
  })
}

/** The message was put aside. The next run receives it, and knows nothing of the steps of the failed run. */
function planOfLetter(entries: readonly Entry[]): RetryVerdict {
  const steps = stepsOf(entries).map(({ name }) => name)
  if (steps.length === 0) return { kind: 'dead_letter' }
  const why = `its message is a dead letter, and another run would do again what it has recorded: ${steps.join(', ')}`
  return { kind: 'impossible', why, hasLetter: true }
}

function stepsOf(entries: readonly Entry[]): StepEntry[] {
  return entries.filter((entry) => entry.type === 'step')
}

/** What the run still waited for when it failed. All of it was dropped or cancelled, and nothing brings it back. Null: the run waited for nothing. */
function lostBy(received: readonly ReceivedEntry[]): string | null {
  const results = new Set(received.flatMap(({ message }) => (message.kind === 'result' ? [message.call] : [])))
  const signals = new Set(received.flatMap(({ message }) => (message.kind === 'result' ? [] : [message.id])))
  const spawned = received.flatMap((entry) => entry.spawned ?? [])
  const children = spawned.filter(({ call, detached }) => !detached && !results.has(call))
  const left = (asked: readonly { readonly id: string }[]) => asked.filter(({ id }) => !signals.has(id)).length
  const timers = left(received.flatMap((entry) => entry.timers ?? []))
  const asks = left(received.flatMap((entry) => entry.asks ?? []))
  if (children.length > 0)
    return `it waited for ${children.map(({ name, id }) => `${name} (${id})`).join(', ')}, and its failure cancelled them`
  if (timers > 0) return `its failure dropped ${counted(timers, 'timer')} that it waited for`
  return asks > 0 ? `its failure withdrew ${counted(asks, 'ask')} that it waited for` : null
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

function planAgent(facts: FailedRunFacts, failure: Failure, decision: UnknownDecision | undefined): RetryVerdict {
  const reply = facts.entries.findLastIndex(({ type }) => type === 'assistant')
  const { reopened, unknown } = callsToReopen(facts.entries.slice(Math.max(reply, 0)), failure)
  if (unknown.length > 0 && decision === undefined) return { kind: 'undecided', calls: unknown.map(nameOf) }
  if (unknown.length === 0 && decision !== undefined) return { kind: 'nothing_to_decide' }
  const replies = facts.entries.filter(({ type }) => type === 'assistant').length
  const calls = [...reopened, ...unknown]
  if (calls.length === 0) {
    const runState = reply < 0 ? 'ProcessingUserMessage' : 'GeneratingResponse'
    return planOf(facts, { entry: {}, runState, step: `model call ${replies + 1}` })
  }
  const ids = calls.map(({ toolCallId }) => toolCallId)
  const step = `tool call ${calls.map(nameOf).join(', ')}`
  const answers = decision === undefined || decision === 'again' ? [] : unknown
  const results = answers.map(({ toolCallId, toolName }, index) => {
    const id = `m${facts.next + 1 + index}`
    return { id, toolCallId, toolName, ...decidedOutcome(decision as 'failed' | 'done') }
  })
  return planOf(facts, { entry: { reopened: ids }, results, runState: 'ExecutingTools', step })
}

function nameOf({ toolName, toolCallId }: ToolCallBlock): string {
  return `${toolName} (${toolCallId})`
}

/** `sinceReply`: the newest reply and all that follows it. */
function callsToReopen(sinceReply: readonly Entry[], failure: Failure) {
  const reply = sinceReply[0] && readChatMessage(sinceReply[0])
  const calls = reply?.type === 'assistant' ? toolCallsOf(reply) : []
  const results = new Map<string, ToolResultMessage>()
  const delegated = new Set<string>()
  for (const entry of sinceReply) {
    if (entry.type === 'toolResult') results.set(entry.toolCallId, entry)
    else if (entry.type === 'delegated') delegated.add(entry.toolCallId)
    else if (entry.type === 'retried') for (const id of entry.reopened ?? []) results.delete(id)
  }
  const isOpen = ({ toolCallId }: ToolCallBlock) => {
    const result = results.get(toolCallId)
    return result === undefined || result.status === 'cancelled' || result.failure !== undefined
  }
  // RETRY-PLAN-3: the model failed, now or before, or a message of a user stands after the results.
  const wasAsked = (entry: Entry) => entry.type === 'attemptFailed' && entry.failure.origin === 'model'
  const areOver = failure.origin === 'model' || sinceReply.some((entry) => entry.type === 'user' || wasAsked(entry))
  const own = areOver ? [] : calls.filter(({ toolCallId }) => !delegated.has(toolCallId))
  const isUnknown = ({ toolCallId }: ToolCallBlock) => results.get(toolCallId)?.status === 'unknown'
  return { reopened: own.filter((call) => isOpen(call) && !isUnknown(call)), unknown: own.filter(isUnknown) }
}

function decidedOutcome(decision: 'failed' | 'done') {
  return decision === 'done'
    ? ({
        status: 'ok',
        output: {
          type: 'text',
          value: 'This call took effect: a person looked, and said so. What it returned is not known.',
        },
      } as const)
    : ({
        status: 'error',
        output: { type: 'error-text', value: 'This call failed and took no effect: a person looked, and said so.' },
      } as const)
}

interface Parts {
  readonly entry: { readonly reopened?: readonly string[]; readonly messageId?: string }
  readonly results?: readonly Record<string, unknown>[]
  readonly mail?: string
  readonly runState: RunState
  readonly step: string
}

function planOf({ run, epoch, at, entries }: FailedRunFacts, parts: Parts): RetryVerdict {
  const { entry, results = [], mail = '', runState, step } = parts
  const made = [
    entryJson('retried', run, epoch, at, entry),
    ...results.map((result) => entryJson('toolResult', run, epoch, at, result)),
  ]
  const counts = { calls: callsIn(entries), steps: stepsOf(entries).length }
  return { kind: 'plan', plan: { entries: made, mail, ...counts, runState, step } }
}

/** The highest number of a spawn. Children of the run keep their ids, so numbers go on behind it. */
function callsIn(entries: readonly Entry[]): number {
  const notes = entries.flatMap((entry): readonly SpawnNote[] =>
    entry.type === 'delegated' || entry.type === 'received' ? (entry.spawned ?? []) : [],
  )
  return Math.max(0, ...notes.map(({ call }) => call))
}
