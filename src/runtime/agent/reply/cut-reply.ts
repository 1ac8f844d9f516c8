/**
 * Duty: let a model go on with a text that was cut off at its length limit, a bounded number of times in a row.
 * CUT-1 How often it went on follows from the history alone, so a node that takes over counts the same.
 */
import { isCutText } from '../../../core/history/chat/chat-message.ts'
import type { Entry } from '../../../core/history/entry.ts'
import type { AgentTurn } from '../agent-turn.ts'
import type { Iteration } from '../iteration.ts'
import type { StepParts } from '../journal.ts'
import { nudgeEntry } from './nudge.ts'
import type { AcceptedReply } from './reply.ts'

const goOnText =
  '(Your reply was cut off because it was too long for one message. Go on exactly where it stops. Repeat nothing, and say nothing of this message.)'

/** Records the text and asks for the rest of it. Returns false if the text is the answer as it is. */
export function goOnAfterCut(
  agentTurn: AgentTurn,
  reply: AcceptedReply,
  { used, most }: Iteration,
  entry: Entry,
  parts: StepParts,
): boolean {
  const { journal } = agentTurn
  const isLastCall = used.iterations >= most.iterations
  // The waiting input is more important than the rest of a text.
  if (agentTurn.kind.definition.mergeInput && agentTurn.inbox.nextInput() !== null) return false
  if (!isCutText(reply) || isLastCall || journal.container.run.cut.length >= continuesOf(agentTurn)) return false
  journal.machine.apply('replyCut')
  journal.add([entry, nudgeEntry(journal, goOnText)], parts)
  return true
}

/** An author who limits the tokens of a reply wants short replies. */
function continuesOf({ kind, turn }: AgentTurn): number {
  const { continues, settings } = kind.definition
  return continues ?? (settings?.maxOutputTokens === undefined ? turn.host.policy.continues : 0)
}
