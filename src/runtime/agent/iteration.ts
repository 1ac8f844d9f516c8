/**
 * Duty: one iteration as six stages on one value: parse, validate, guard, approve, dispatch, inject (then the loop decides).
 * The first four are here and pure: the same reply gives the same value, so that an iteration which a crash cut in two is taken up
 * by running them again; dispatch and inject record as they go (local-calls.ts, delegated-calls.ts).
 * P1 A stage leaves the value untouched once it has an error or a decision. P2 Each call of the reply ends with exactly one result.
 */

import { LimitError, type RuntimeError } from '../../core/errors.ts'
import type { AssistantMessage, ToolCallBlock } from '../../core/history/chat-message.ts'
import { textOf, toolCallsOf } from '../../core/history/chat-message.ts'

export type CheckedCall =
  | { readonly kind: 'accepted'; readonly call: ToolCallBlock; readonly input: unknown }
  /** It cannot be run: the model is told why. */
  | { readonly kind: 'invalid'; readonly call: ToolCallBlock; readonly text: string }

export interface Iteration {
  readonly reply: Pick<AssistantMessage, 'content'>
  /** Which iteration of the run it is, from 1, and how many there may be. */
  readonly number: number
  readonly most: number
  readonly calls: readonly ToolCallBlock[]
  readonly checked: readonly CheckedCall[]
  /** continue: calls are to be run; done: the reply is the answer; blank: it says nothing. */
  readonly decision: 'continue' | 'done' | 'blank' | null
  readonly error: RuntimeError | null
  /** What each stage did, for logs and tests. */
  readonly trace: readonly string[]
}

/** What the stages need to know of the worker. */
export interface IterationRules {
  readonly who: string
  /** An accepted call's input, or the text that tells the model what is wrong. */
  check(call: ToolCallBlock): CheckedCall
}

/** While the stages work on it. */
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
  draft.checked = draft.calls.map((call) => rules.check(call))
  draft.trace.push('validate_calls')
}

/** Tools run only if another model call may read their results. */
const guard: Stage = (draft, { who }) => {
  if (draft.number < draft.most) {
    draft.trace.push('budget_ok')
    return
  }
  draft.error = new LimitError(
    'iterations_exceeded',
    `${who} has made ${draft.number} of ${draft.most} model calls of this run and asked for ${draft.calls.length} more tool calls, which were not run. Raise limits.iterations.`,
  )
  draft.trace.push('budget_exceeded_iterations')
}

/** The place where calls will wait for a person; no call needs one yet. */
const approve: Stage = (draft) => {
  draft.decision = 'continue'
  draft.trace.push('approve_all')
}

const stages: readonly Stage[] = [parse, validate, guard, approve]

export function runStages(
  reply: Pick<AssistantMessage, 'content'>,
  number: number,
  most: number,
  rules: IterationRules,
): Iteration {
  const draft: Draft = { reply, number, most, calls: [], checked: [], decision: null, error: null, trace: [] }
  for (const stage of stages) {
    if (draft.error === null && draft.decision === null) stage(draft, rules)
  }
  return draft
}
