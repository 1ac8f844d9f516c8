/**
 * Duty: text of others (names, errors, results) made safe to show: nothing in it can move the cursor, colour, hide or reorder
 * what a terminal shows. Every value that reaches a person passes here.
 */

/** C0, DEL, C1, line separators, and the marks that reorder text (bidi). */
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g
const unsafeInText = /(?![\n\t])[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\u001b': '\\e' }

/** For one line: line breaks are shown as `\n`. */
export function escapeLine(text: string): string {
  return text.replace(unsafe, show)
}

/** For text of many lines: line breaks and tabs stay. */
export function escapeText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(unsafeInText, show)
}

/** For JSON, which escapes few of them by itself: the same value, and one line for whatever reads lines. */
export function escapeJson(json: string): string {
  return json.replace(unsafe, unicode)
}

function show(character: string): string {
  return short[character] ?? unicode(character)
}

function unicode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
