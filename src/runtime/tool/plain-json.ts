/** Duty: make JSON text of tools acceptable to stores and providers. */

const loneSurrogate = /\\ud[89a-f]/
const escapes = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g

/** Takes text from JSON.stringify. Replaces each half of a surrogate pair by the replacement character, because stores and providers refuse halves. */
export function wellFormedJson(text: string): string {
  if (!loneSurrogate.test(text)) return text
  return text.replace(escapes, (found) => (found.length > 2 ? '\ufffd' : found))
}
