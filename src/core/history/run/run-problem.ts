/** Duty: say why a run without an input has nothing to answer. */
import type { ChatMessage } from '../chat/chat-message.ts'

/** Null if the last that was said is the word of a user. */
export function runProblem({ messages }: { readonly messages: readonly ChatMessage[] }): string | null {
  const last = messages.findLast(({ type }) => type !== 'system' && type !== 'error')
  if (last === undefined) return 'no messages in history.'
  return last.type === 'user' ? null : 'last entry is not an input.'
}
