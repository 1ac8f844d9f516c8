/**
 * Duty: the sentences that a model reads about a call without a normal result. They become part of every such conversation, so change
 * them with care.
 */
import { redactSentence } from '../../core/secret/redact.ts'

/** Longest name or reason in a sentence. Both may repeat what the model itself wrote. */
const charsMax = 300

export function unknownToolText(name: string, available: readonly string[]): string {
  return `Error: unknown tool '${brief(name)}'. Available: ${available.length === 0 ? 'none' : available.join(', ')}`
}

export function unresolvedText(name: string, reason: string): string {
  return `Error: tool '${brief(name)}' could not be resolved: ${brief(reason)}. The call was not run.`
}

export function uncheckedText(name: string, reason: string): string {
  return `Error: this call of '${brief(name)}' was not run, because the check before it failed: ${brief(reason)}.`
}

/** `reason`: as code of the kind gives it. */
export function refusedText(name: string, reason: string): string {
  return `Error: this call of '${brief(name)}' was refused: ${asSentence(brief(reason))} It was not run.`
}

export function invalidArgumentsText(name: string, reasons: readonly string[]): string {
  return `Error: invalid arguments for '${brief(name)}': ${reasons.map(brief).join('; ')}`
}

/** What follows the reason why arguments cannot be read. */
export const smallerText = 'Write them anew as one JSON object; if they are long, split the work into smaller calls.'

export function cutOffText(name: string): string {
  return (
    `Error: the reply was cut off at the length that a reply may have, before the arguments of '${brief(name)}' were complete. ` +
    'The call was not run. Make it again, with less in one reply.'
  )
}

export function timedOutText(name: string, timeoutMs: number): string {
  return (
    `Error: '${brief(name)}' did not finish within ${timeoutMs} ms and was stopped. ` +
    'Part of its work may have taken effect.'
  )
}

/** The result of a call of a terminal tool. */
export const ranOutText = 'The run has ended with these arguments.'

/** `by`: the terminal tool that another call of the same reply named. */
export function notRunText(by: string): string {
  return `This call was not run: '${brief(by)}' in the same reply ended the run.`
}

/** The result of a call of a terminal tool if a message came that the run reads first. */
export function notEndedText(name: string): string {
  return `The run has not ended: a message came. Read it, then call '${brief(name)}' again with all that holds now.`
}

/** The result of another call of that reply. */
export const notBegunText = 'This call was not run: a message came. Read it, then call again if that is still needed.'

function asSentence(text: string): string {
  return /[.!?]\s*$/.test(text) ? text.trimEnd() : `${text}.`
}

export function failedText(message: string): string {
  return `Error: ${message}`
}

/** Short, and without secrets: what code threw may quote what it was given. */
export function brief(given: string): string {
  const text = redactSentence(given)
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()} … (${text.length} characters)`
}
