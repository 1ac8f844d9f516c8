/**
 * Duty: work out what a reply means, as stages on one value: parse, validate, guard, approve. Dispatch and inject follow.
 * Owns: the first four stages, which only compute. An iteration that a crash interrupted is therefore taken up by running them again.
 * Does not own: dispatch and inject, which record as they go (call/local/local-calls.ts, call/child/delegated-calls.ts).
 * ITERATION-1 A stage leaves the value untouched once it has an error or a decision.
 * ITERATION-2 Each call of the reply ends with exactly one result.
 */

import { LimitError, type RuntimeError } from '../../core/errors.ts'
import type { AssistantMessage, ToolCallBlock } from '../../core/history/chat/chat-message.ts'
import { textOf, toolCallsOf } from '../../core/history/chat/chat-message.ts'
import type { ApprovalVerdict } from '../../core/worker/ask/approval.ts'

export type CheckedCall =
  | {
      readonly kind: 'accepted'
      readonly call: ToolCallBlock
      readonly input: unknown
      /** `verdict`: whether the call needs an approval. A call that is forbidden is invalid. */
      readonly verdict: Exclude<ApprovalVerdict, { readonly do: 'deny' }>
    }
  /** The call cannot be run. `text` tells the model why. `isBroken`: its arguments cannot be read. */
  | {
      readonly kind: 'invalid'
      readonly call: ToolCallBlock
      readonly text: string
      readonly isForbidden?: true
      readonly isBroken?: true
    }

export type AcceptedCall = CheckedCall & { readonly kind: 'accepted' }

/** A reply, with whatever else is known of it: it may come from a model or from a history. */
type IterationReply = Pick<AssistantMessage, 'content'> & Partial<AssistantMessage>

export interface Iteration {
  readonly reply: IterationReply
  readonly used: RunUse
  /** What a run may use. */
  readonly most: RunUse
  readonly calls: readonly ToolCallBlock[]
  readonly checked: readonly CheckedCall[]
  /** `continue`: run the calls. `done`: the reply is the answer. `blank`: the reply has no text and no calls. `terminal`: a call ends the run. */
  readonly decision: 'continue' | 'done' | 'blank' | 'terminal' | null
  /** The call of a terminal tool that ends the run, if `decision` is `terminal`. */
  readonly terminal: AcceptedCall | null
  readonly error: RuntimeError | null
  /** What each stage did, for logs and tests. */
  readonly trace: readonly string[]
}

/** What the run has used with this reply. */
export interface RunUse {
  /** The number of this iteration in its run, from 1. */
  readonly iterations: number
  /** Tool calls of all its replies. */
  readonly toolCalls: number
}

/** What the stages need to know about the worker. */
export interface IterationRules {
  readonly who: string
  /** What a run may use. */
  readonly most: RunUse
  /** How many calls of one reply are run. */
  readonly callsPerReply: number
  /** Returns the input of an accepted call, or the text that tells the model what is wrong. Every call may run, as far as it knows. */
  check(call: ToolCallBlock): CheckedCall
  /** True if the tool of the call is terminal. */
  isTerminal(call: AcceptedCall): boolean
  /** Decides whether an accepted call needs an approval, or is forbidden. */
  approve(call: AcceptedCall): CheckedCall
}

/** The value while the stages work on it. */
type Draft = { -readonly [Name in keyof Iteration]: Iteration[Name] } & { trace: string[] }
type Stage = (draft: Draft, rules: IterationRules) => void

const parse: Stage = (draft) => {
  draft.calls = toolCallsOf(draft.reply as AssistantMessage)
  if (draft.calls.length > 0) {
    draft.trace.push('parse_tool_calls')
    return
  }
  draft.decision = textOf(draft.reply.content).trim() === '' ? 'blank' : 'done'
  draft.trace.push(draft.decision === 'blank' ? 'parse_blank_stop' : 'parse_no_tools')
}

const validate: Stage = (draft, rules) => {
  const most = rules.callsPerReply
  draft.checked = draft.calls.map((call, index) => {
    if (index < most) return rules.check(call)
    const text = `This call was not run: one reply may have at most ${most} tool calls, and this is number ${index + 1}.`
    return { kind: 'invalid', call, text }
  })
  draft.trace.push('validate_calls')
}

/** The first call of a terminal tool ends the run, unless a rule forbids it. Nobody is asked: it changes nothing. */
const finish: Stage = (draft, rules) => {
  const ends = (one: CheckedCall) =>
    one.kind === 'accepted' && rules.isTerminal(one) && rules.approve(one).kind === 'accepted'
  const end = draft.checked.find(ends)
  if (end === undefined) return
  draft.terminal = end as AcceptedCall
  draft.decision = 'terminal'
  draft.trace.push('terminal_tool')
}

/** Refuses the calls if no further model call could read their results, or if the run has asked for too many. */
const guard: Stage = (draft, { who }) => {
  const { most } = draft
  const { iterations, toolCalls } = draft.used
  const asked = draft.calls.length
  if (iterations >= most.iterations) {
    const calls = `the last reply asked for ${asked} more tool calls. They were not run`
    const why = `${who} has made ${iterations} of ${most.iterations} model calls of this run, and ${calls}. Raise limits.iterations of its kind.`
    draft.error = new LimitError('iterations_exceeded', why)
    draft.trace.push('budget_exceeded_iterations')
  } else if (toolCalls > most.toolCalls) {
    const calls = `the last reply asked for ${asked} of them. These ${asked} were not run`
    const why = `${who} has asked for ${toolCalls} tool calls in this run and may ask for ${most.toolCalls}; ${calls}. Raise limits.toolCalls of its kind.`
    draft.error = new LimitError('tool_calls_exceeded', why)
    draft.trace.push('budget_exceeded_tool_calls')
  } else draft.trace.push('budget_ok')
}

/** Finds the calls that need an approval. They wait for it before dispatch (call/person/approvals.ts). */
const approve: Stage = (draft, rules) => {
  draft.checked = draft.checked.map((one) => (one.kind === 'accepted' ? rules.approve(one) : one))
  const asked = draft.checked.filter(needsApproval).length
  draft.decision = 'continue'
  draft.trace.push(asked === 0 ? 'approve_all' : `approve_asks_${asked}`)
}

export function needsApproval(one: CheckedCall): boolean {
  return one.kind === 'accepted' && one.verdict.do === 'ask'
}

const stages: readonly Stage[] = [parse, validate, finish, guard, approve]

export function runStages(reply: IterationReply, used: RunUse, rules: IterationRules): Iteration {
  const { most } = rules
  const draft: Draft = {
    reply,
    used,
    most,
    calls: [],
    checked: [],
    decision: null,
    terminal: null,
    error: null,
    trace: [],
  }
  for (const stage of stages) {
    if (draft.error === null && draft.decision === null) stage(draft, rules)
  }
  return draft
}

/** How many calls of a reply may run: those that fit, and are not too many. */
export function acceptedCalls({ checked }: Iteration): number {
  return checked.filter(({ kind }) => kind === 'accepted').length
}
