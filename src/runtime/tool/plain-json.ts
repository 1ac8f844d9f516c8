/** Duty: JSON of tools as stores and providers take it. */

const loneSurrogate = /\\ud[89a-f]/
const escapes = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g

/** Text of JSON.stringify, with the replacement character for halves of characters: stores and providers refuse those. */
export function wellFormedJson(text: string): string {
  if (!loneSurrogate.test(text)) return text
  return text.replace(escapes, (found) => (found.length > 2 ? '\ufffd' : found))
}
