/**
 * Duty: recognise an answer of a provider that says: the prompt is longer than the model's context.
 * OVERFLOW-1 Another prompt may be accepted by the same model. A limit on the tokens of the reply, or on tokens per minute, is no overflow.
 */

const overflowWords = new Set([
  'context_length_exceeded',
  'context_window_exceeded',
  'model_context_window_exceeded',
  'exceed_context_size_error',
  'exceeded_context_length',
  'request_too_large',
  'string_above_max_length',
  'input_too_long',
  'prompt_too_long',
])

/** Patterns of what is too long, and the words for it. Providers that speak the same protocol use different sentences. */
const what = '(?:prompts?|inputs?|context|conversation|messages?|requests?)'
const sentences: readonly RegExp[] = [
  /context[ _-]?(?:length|window|size|limit)|(?:prompt|input)[ _-]length/,
  new RegExp(`\\b${what}\\b.{0,60}\\b(?:too (?:long|large|many tokens)|exceed)`),
  new RegExp(`\\btoo many (?:input |prompt )?tokens\\b|\\btoo long\\b.{0,40}\\b${what}\\b`),
  /\btokens?\b.{0,60}\b(?:exceed|greater than|more than|larger than|over|above)\b.{0,60}\b(?:max|limit|context|allowed|supported)/,
  /\bexceed\w*\b.{0,40}\b(?:model|input|prompt)?\s*token (?:limit|count)/,
  /\binputs?`? tokens?\b.{0,60}\bmust be\b/,
]
/** Patterns of sentences about something else that also has a limit. */
const otherLimits =
  /\b(?:per|a|each) (?:minute|min|hour|day|second)\b|\b(?:rpm|tpm|rpd|tpd)\b|\brate.?limit|\bquota\b|\bmax_(?:completion_|output_)?tokens\b.{0,40}(?:too (?:large|high|big)|must be|at most|> \d)|\bcompletion tokens\b.{0,20}$/
/** The sentence of Anthropic for a reply that would not fit behind the prompt, and of servers that reserve room for the reply. */
const promptAndReply =
  /\b(?:input|prompt|context)\b.{0,80}max_(?:new_|completion_|output_)?tokens|max_(?:new_)?tokens.{0,80}\bcontext\b/

/** `words`: types and codes of the error. */
export function saysOverflow(words: readonly string[], message: string): boolean {
  if (words.some((word) => overflowWords.has(word))) return true
  // The SDK quotes an answer that it cannot read behind the words for its status. Names of fields in it say nothing.
  const text = message
    .slice(0, 2_000)
    .toLowerCase()
    .replace(/^bad request\b/, '')
    .replaceAll(/"\w+"\s*:/g, ' ')
  if (promptAndReply.test(text) && /exceed|limit|maximum|must be|too/.test(text)) return true
  return !otherLimits.test(text) && sentences.some((sentence) => sentence.test(text))
}
