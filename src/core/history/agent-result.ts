/** Duty: define the result of an agent's run. */
import { isObject } from '../check/is-object.ts'
import type { FinishReason, Json } from './chat/chat-message.ts'

/** The result of an agent's run. */
export interface AgentResult {
  /** The text of the model's last reply. */
  readonly text: string
  /** Its result as a value: what `output` of its kind returns, or the arguments of the terminal tool that ended the run. */
  readonly output?: unknown
  /** The terminal tool that ended the run. */
  readonly terminalTool?: string
  /** Facts that its tools set, by name. */
  readonly facts?: Readonly<Record<string, Json>>
  /** Why the answer is not whole: the model reached its length limit, or a filter cut it. Absent if the model ended by itself. */
  readonly finishReason?: CutReason
}

/** The result of an agent's run whose kind has an `output`. */
export type AgentResultOf<Output> = Omit<AgentResult, 'output'> & { readonly output: Output }

export type CutReason = 'length' | 'content-filter'

export function cutReasonOf(finishReason: FinishReason): CutReason | undefined {
  return finishReason === 'length' || finishReason === 'content-filter' ? finishReason : undefined
}

const resultNames = new Set(['text', 'output', 'terminalTool', 'facts', 'finishReason'])

/** True for an object with a text, perhaps facts and a reason for its end, and no other field. A handler's reply may have a text too; with other fields it is shown whole. */
export function isAgentResult(value: unknown): value is AgentResult {
  if (!isObject(value) || typeof value.text !== 'string' || typeof (value.finishReason ?? '') !== 'string') return false
  return Object.keys(value).every((name) => resultNames.has(name))
}
