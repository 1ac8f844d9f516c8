/**
 * Duty: take the text of a reply as the answer of a run: its result, or, if it does not fit the `output` of its kind, a reason to ask again.
 * Does not own: the end itself (complete.ts), ends without an answer (../agent-end.ts).
 * AGENT-ANSWER-1 How often an answer did not fit follows from the history alone, so a node that takes over counts the same.
 */
import type { ModelReply } from '../../../core/definition/model.ts'
import { TerminalError } from '../../../core/errors.ts'
import { cutReasonOf } from '../../../core/history/agent-result.ts'
import { textOf } from '../../../core/history/chat/chat-message.ts'
import type { Entry } from '../../../core/history/entry.ts'
import type { AgentTurn } from '../agent-turn.ts'
import type { StepParts } from '../journal.ts'
import { complete } from './complete.ts'
import { nudgeEntry } from './nudge.ts'
import { readOutput } from './output.ts'

/** A failure quotes this much of the last text. */
const quoteCharsMax = 500

/** `entry`: what is recorded of the reply. */
export function answer(
  agentTurn: AgentTurn,
  reply: Pick<ModelReply, 'content' | 'finishReason'>,
  entry: Entry,
  parts: StepParts,
): void {
  const text = [...agentTurn.journal.container.run.cut, textOf(reply.content)].join('')
  const finishReason = cutReasonOf(reply.finishReason)
  const result = { text, ...(finishReason && { finishReason }) }
  const { output } = agentTurn.kind.definition
  if (output === undefined) {
    complete(agentTurn, result, [entry], parts)
    return
  }
  const fit = readOutput(output, text)
  if (!fit.ok) refuse(agentTurn, text, fit.reasons, entry, parts)
  else complete(agentTurn, { ...result, output: fit.value }, [entry], parts)
}

/** The model is told what is wrong, or the run fails. The correction stays in the history: if somebody lets the run go on, the model reads it. */
function refuse(agentTurn: AgentTurn, text: string, reasons: readonly string[], entry: Entry, parts: StepParts): void {
  const { journal, end, kind, turn, who } = agentTurn
  const { run } = journal.container
  const { limits, outputRetries = turn.host.policy.outputRetries } = kind.definition
  const iterations = run.iterations + (entry.type === 'assistant' ? 1 : 0)
  const most = limits?.iterations ?? turn.host.policy.iterations
  const misfits = run.misfits + 1
  const entries = [entry, nudgeEntry(journal, misfitText(reasons), 'output')]
  if (misfits <= outputRetries && iterations < most) {
    journal.log.info('an answer did not fit the output of its kind', { misfits, of: outputRetries + 1, reasons })
    journal.machine.apply('outputRefused')
    journal.add(entries, parts)
    return
  }
  const often = misfits === 1 ? 'an answer' : `${misfits} answers`
  const bound = misfits > outputRetries ? 'outputRetries' : 'limits.iterations'
  const error = new TerminalError(
    `${who} gave ${often} that did not fit the output of its kind, as ${bound} allows: ${reasons.join('; ')}. Its last text: ${quoted(text)}`,
    { code: 'output_invalid' },
  )
  journal.machine.apply('limitReached')
  end.fail(error, 'model', misfits, { entries, parts })
}

function quoted(text: string): string {
  const more = text.length > quoteCharsMax ? ` … (${text.length} characters)` : ''
  return `${JSON.stringify(text.slice(0, quoteCharsMax).toWellFormed())}${more}`
}

function misfitText(reasons: readonly string[]): string {
  return `(Your answer does not fit: ${reasons.join('; ')}. Reply with the whole corrected JSON value and nothing else.)`
}

/** Clears the failure of earlier attempts from the record, because the model has replied. */
export function noFailure({ journal }: AgentTurn): StepParts {
  return { failure: journal.position.attempt > 0 ? null : undefined, position: { attempt: 0, retrying: '' } }
}
