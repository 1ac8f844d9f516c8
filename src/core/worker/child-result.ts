/**
 * Duty: decide what the result of a child means for the run that waits for it. Handlers and agents both ask here.
 * Owns: which calls a run still waits for after a result. Does not own: how a result reaches the mailbox of the parent (the scripts), or what the
 * parent's code does with it (the behaviours).
 * RESULT-1 A run receives the result of each call once. A result for which it does not wait changes nothing.
 * RESULT-2 Whoever supervises children decides here: a verdict besides these two, such as a fresh start of a child that failed, is added to
 *          the union, and the compiler names both behaviours.
 */
import type { ResultMessage } from './message/message.ts'

export type ResultVerdict =
  /** The parent's code receives it. `pendingCalls`: the calls whose results are still to come after it. */
  { readonly kind: 'report'; readonly pendingCalls: readonly number[] } | { readonly kind: 'ignore' }

export function receiveResult(pendingCalls: readonly number[], { call }: Pick<ResultMessage, 'call'>): ResultVerdict {
  if (!pendingCalls.includes(call)) return { kind: 'ignore' }
  return { kind: 'report', pendingCalls: pendingCalls.filter((other) => other !== call) }
}
