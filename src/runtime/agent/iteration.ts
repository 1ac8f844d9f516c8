/**
 * Duty: one iteration as six stages on one value: parse, validate, guard, approve, dispatch, inject (then the loop decides).
 * The first four are here and pure: the same reply gives the same value, so that an iteration which a crash cut in two is taken up
 * by running them again; dispatch and inject record as they go (local-calls.ts, delegation.ts).
 * P1 A stage leaves the value untouched once it has an error or a decision. P2 Each call of the reply ends with exactly one result.
 */
import type { AssistantMessage, ToolCallBlock } from '../../core/chat-message.ts'
import { textOf, toolCallsOf } from '../../core/chat-message.ts'
import { LimitError, type RuntimeError } from '../../core/errors.ts'

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
  /** What each stage did, for logs and tests (2.12). */
  readonly trace: readonly string[]
}

/** What the stages need to know of the worker. */
export interface IterationRules {
  readonly who: string
  /** An accepted call's input, or the text that tells the model what is wrong. */
  check(call: ToolCallBlock): CheckedCall
}

type Stage = (iteration: Iteration, rules: IterationRules) => Iteration

const parse: Stage = (iteration) => {
  const calls = toolCallsOf(iteration.reply as AssistantMessage)
  if (calls.length > 0) return { ...iteration, calls, trace: [...iteration.trace, 'parse_tool_calls'] }
  const isBlank = textOf(iteration.reply.content).trim() === ''
  return {
    ...iteration,
    decision: isBlank ? 'blank' : 'done',
    trace: [...iteration.trace, isBlank ? 'parse_blank_stop' : 'parse_no_tools'],
  }
}

const validate: Stage = (iteration, rules) => ({
  ...iteration,
  checked: iteration.calls.map((call) => rules.check(call)),
  trace: [...iteration.trace, 'validate_calls'],
})

/** Tools run only if another model call may read their results (2.7, conflict 11). */
const guard: Stage = (iteration, { who }) => {
  if (iteration.number < iteration.most) return { ...iteration, trace: [...iteration.trace, 'budget_ok'] }
  const error = new LimitError(
    'iterations_exceeded',
    `${who} has made ${iteration.number} of ${iteration.most} model calls of this run and asked for ${iteration.calls.length} more tool calls, which were not run. Raise limits.iterations.`,
  )
  return { ...iteration, error, trace: [...iteration.trace, 'budget_exceeded_iterations'] }
}

/** The place where calls will wait for a person; no call needs one yet. */
const approve: Stage = (iteration) => ({
  ...iteration,
  decision: 'continue',
  trace: [...iteration.trace, 'approve_all'],
})

const stages: readonly Stage[] = [parse, validate, guard, approve]

export function runStages(
  reply: Pick<AssistantMessage, 'content'>,
  number: number,
  most: number,
  rules: IterationRules,
) {
  let iteration: Iteration = { reply, number, most, calls: [], checked: [], decision: null, error: null, trace: [] }
  for (const stage of stages) {
    if (iteration.error === null && iteration.decision === null) iteration = stage(iteration, rules)
  }
  return iteration
}
