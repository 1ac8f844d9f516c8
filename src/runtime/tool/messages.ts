/** Duty: what a model is told of a call that came to nothing. Plain sentences; part of every conversation, so changed with care. */

/** Names and reasons may be the model's own words. */
const charsMax = 300

export function unknownToolText(name: string, available: readonly string[]): string {
  return `Error: unknown tool '${brief(name)}'. Available: ${available.length === 0 ? 'none' : available.join(', ')}`
}

export function invalidArgumentsText(name: string, reasons: readonly string[]): string {
  return `Error: invalid arguments for '${brief(name)}': ${reasons.map(brief).join('; ')}`
}

export function cutOffText(name: string): string {
  return (
    `Error: the reply was cut off at the length that a reply may have, before the arguments of '${brief(name)}' were whole. ` +
    'The call was not run: make it again, with less in one reply.'
  )
}

export function timedOutText(name: string, timeoutMs: number): string {
  return (
    `Error: '${brief(name)}' did not finish within ${timeoutMs} ms and was stopped. ` +
    'Part of what it does may have taken effect.'
  )
}

export function failedText(message: string): string {
  return `Error: ${message}`
}

export function brief(text: string): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()} … (${text.length} characters)`
}
