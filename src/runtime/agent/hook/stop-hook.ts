/**
 * Duty: ask the hook `stop` whether an answer ends the run, and go on if it says so.
 * STOP-HOOK-1 It is asked before the answer is recorded: after a crash the model is asked again, and so is the hook.
 * STOP-HOOK-2 It may ask for more a bounded number of times in a run, and never behind the last model call that the run may make.
 */
import { textOf } from '../../../core/history/chat/chat-message.ts'
import type { Entry } from '../../../core/history/entry.ts'
import type { AgentTurn } from '../agent-turn.ts'
import type { Iteration } from '../iteration.ts'
import type { StepParts } from '../journal.ts'
import { readSteers, recordSteers } from '../order/steered.ts'
import { answer } from '../reply/answer.ts'
import type { AcceptedReply } from '../reply/reply.ts'
import { hookText, textEntry } from './hook-text.ts'
import { runHook } from './run-hook.ts'

export function mayAskForMore({ kind, journal, turn }: AgentTurn, { used, most }: Iteration): boolean {
  if (kind.definition.hooks?.stop === undefined) return false
  return used.iterations < most.iterations && journal.container.run.held < turn.host.policy.heldAnswers
}

/** Returns true if the model is asked once more, or if the turn is over. `entry`: the entry of the reply. */
async function asksForMore(
  agentTurn: AgentTurn,
  { content, finishReason }: AcceptedReply,
  entry: Entry,
  parts: StepParts,
): Promise<boolean> {
  const { journal, kind } = agentTurn
  const { cut, held } = journal.container.run
  const checked = { text: [...cut, textOf(content)].join(''), finishReason, asked: held }
  const end = await runHook(agentTurn, 'hooks.stop', 'the answer stands', (self) =>
    kind.definition.hooks?.stop?.(checked, self),
  )
  if (end.kind !== 'returned') return end.kind === 'over'
  const text = hookText(journal, 'hooks.stop', end.value)
  if (text === null) return false
  journal.machine.apply('answerHeld')
  journal.add([entry, journal.entry('hooked', { hook: 'stop', did: 'goOn' }), textEntry(journal, text, 2)], parts)
  return true
}

/** Ends the run with this answer, unless the hook, or a message that came while it looked, wants another one. */
export async function answerUnlessHeld(
  agentTurn: AgentTurn,
  reply: AcceptedReply,
  entry: Entry,
  parts: StepParts,
): Promise<null> {
  if (await asksForMore(agentTurn, reply, entry, parts)) return null
  const steers = agentTurn.turn.steers.isWaiting ? await readSteers(agentTurn) : []
  if (agentTurn.isOver) return null
  if (steers.length > 0) {
    // They came while the hook looked at the answer.
    recordSteers(agentTurn, steers, { entries: [entry], parts })
    return null
  }
  answer(agentTurn, reply, entry, parts)
  agentTurn.compactor.afterAnswer()
  return null
}
