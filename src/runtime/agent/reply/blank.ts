/**
 * Duty: act on a reply without text and without calls: ask again, with a nudge; in the end take the earlier text as the answer, or fail, unless
 * something steers the run (STEERED-3).
 */
import type { ModelReply } from '../../../core/definition/model.ts'
import { TerminalError } from '../../../core/errors.ts'
import type { EventNote } from '../../../core/event/event.ts'
import { textOf } from '../../../core/history/chat/chat-message.ts'
import type { Entry } from '../../../core/history/entry.ts'
import type { Mail } from '../../../core/worker/message/message.ts'
import type { AgentTurn } from '../agent-turn.ts'
import { recordSteers } from '../order/steered.ts'
import { answer, noFailure } from './answer.ts'
import { nudgeEntry } from './nudge.ts'

/** `steers`: inputs that wait and steer the run. */
export function blank(agentTurn: AgentTurn, reply: ModelReply, steers: readonly Mail[]): null {
  const { journal, kind, turn } = agentTurn
  const { model, finishReason, usage } = reply
  const blanks = journal.container.run.blanks + 1
  const entry = journal.entry('blank', { model, finishReason, usage })
  const note: EventNote = ['model.blanked', { model, blanks, finishReason }]
  if (blanks >= (kind.definition.limits?.blankStops ?? turn.host.policy.blankStops)) {
    if (steers.length === 0) stop(agentTurn, reply, blanks, entry)
    else recordSteers(agentTurn, steers, { entries: [entry], parts: { notes: [note], ...noFailure(agentTurn) } })
    return null
  }
  journal.machine.apply('blankReply')
  const text = nudgeText(agentTurn, blanks)
  const nudge = text === '' ? [] : [nudgeEntry(journal, text)]
  journal.add([entry, ...nudge], { notes: [note], ...noFailure(agentTurn) })
  return null
}

/** A model that said something when it called its tools, and nothing after their results, has nothing to add: what it said is the answer. */
function stop(agentTurn: AgentTurn, { model, finishReason }: ModelReply, blanks: number, entry: Entry): void {
  const { journal, end, who } = agentTurn
  const said = journal.container.lastReply
  if (said !== null && !said.interrupted && finishReason === 'stop' && textOf(said.content).trim() !== '') {
    const note: EventNote = ['model.blanked', { model, blanks, finishReason }]
    // The run already holds what was cut off.
    const content = journal.container.run.cut.length > 0 ? [] : said.content
    answer(agentTurn, { content, finishReason }, entry, { notes: [note], ...noFailure(agentTurn) })
    return
  }
  const error = new TerminalError(
    `model ${model} gave ${blanks} blank replies in a row to ${who}, the last one with finish reason "${finishReason}".`,
    { code: 'model_blank' },
  )
  journal.machine.apply('limitReached')
  end.fail(error, 'model', blanks, { entries: [entry] })
}

/** Asked again with the same prompt, most models end without a word again. After results of tools they are therefore told to go on. */
const nudgeAfterResults =
  '(Your reply after the tool results was empty. Give your answer now, call a tool, or say that nothing is left to do.)'

function nudgeText({ kind, journal }: AgentTurn, blanks: number): string {
  const { nudge } = kind.definition
  if (nudge !== undefined) return nudge
  const hadResults = journal.container.lastReply !== null
  return hadResults && blanks === 1 ? nudgeAfterResults : ''
}
