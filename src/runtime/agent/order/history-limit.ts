/**
 * Duty: bound how many messages the conversation of one agent may have. Each turn on another node reads all of them.
 * HISTORY-LIMIT-1 A conversation that is full takes no further message and makes no model call. Its history stays, and can be branched or exported.
 */
import { LimitError } from '../../../core/errors.ts'
import type { EventNote } from '../../../core/event/event.ts'
import type { ContextContainer } from '../../../core/history/context-container.ts'
import type { AgentTurn } from '../agent-turn.ts'

/** Conversations of this node about whose length a warning was logged. */
const warned = new WeakSet<ContextContainer>()

/** The error of a conversation that is full; null if it is not. */
export function historyFull({ journal, turn, who }: AgentTurn): LimitError | null {
  const { length } = journal.container.history
  const most = turn.host.policy.historyMessagesMax
  if (length < most) return null
  const { workerId } = turn.assignment
  return new LimitError(
    'history_full',
    `the conversation of ${who} has ${length} messages, and may have ${most}: nothing more is added. Begin another one: troupe worker fork ${workerId} --at <an earlier position>, or troupe session export for what was said.`,
  )
}

/** Once on each node, when the conversation has become long. */
export function lengthWarnings({ journal, turn, who }: AgentTurn): readonly EventNote[] {
  const { container, position } = journal
  const { historyWarnMessages, historyMessagesMax } = turn.host.policy
  if (container.history.length < historyWarnMessages || warned.has(container)) return []
  warned.add(container)
  const warning = `the conversation of ${who} has ${container.history.length} messages; at ${historyMessagesMax} it takes no more.`
  journal.log.warn('a conversation is long', { messages: container.history.length, most: historyMessagesMax })
  return [['run.warned', { run: position.run, warning }]]
}
