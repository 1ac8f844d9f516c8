/**
 * Duty: make foreign text (names, errors, results, logs) safe to print, so that nothing in it can move the cursor, set a colour, or hide or reorder
 * text. Every value that reaches a person passes here.
 * ESC-1 There is one class of unsafe characters for all output: control characters, line and paragraph separators, marks that reorder
 *       text, halves of surrogate pairs, and characters that a reader cannot see.
 * ESC-2 An invisible character stays where a script or an emoji needs it: a joiner between two emoji or within a word of a script that
 *       uses joiners, and one variation selector after a character that has variants.
 */

const joiningScripts = [
  'Arabic',
  'Syriac',
  'Mongolian',
  'Devanagari',
  'Bengali',
  'Gurmukhi',
  'Gujarati',
  'Oriya',
  'Tamil',
  'Telugu',
  'Kannada',
  'Malayalam',
  'Sinhala',
  'Khmer',
  'Myanmar',
]
const joined = `[${joiningScripts.map((script) => `\\p{Script=${script}}`).join('')}]`
const needed = [
  String.raw`(?<=\p{Extended_Pictographic}\ufe0f?|\p{Emoji_Modifier})\u200d(?=\p{Extended_Pictographic})`,
  String.raw`(?<=[\p{Extended_Pictographic}0-9#*])[\ufe0e\ufe0f]`,
  String.raw`(?<=\p{Script=Han})[\ufe00-\ufe02\u{e0100}-\u{e01ef}]`,
  String.raw`(?<=${joined})[\u200c\u200d](?=${joined})`,
].join('|')
const invisible = String.raw`\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb`
const characters = String.raw`([\p{Cc}\p{Zl}\p{Zp}\p{Cs}${invisible}])`
const unsafe = new RegExp(`${needed}|${characters}`, 'gu')
const unsafeInText = new RegExp(String.raw`${needed}|(?![\n\t])${characters}`, 'gu')

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\u001b': '\\e' }

/** Escapes a text for one line: a line break becomes `\n`. */
export function escapeLine(text: string): string {
  return escapeWith(text, unsafe, visible)
}

/** Escapes a text of several lines: line breaks and tabs stay. */
export function escapeText(text: string): string {
  return escapeWith(text.replaceAll('\r\n', '\n'), unsafeInText, visible)
}

/** Escapes JSON, which itself escapes few of these characters. The value stays the same, and on one line. */
export function escapeJson(json: string): string {
  return escapeWith(json, unsafe, (character) => character.split('').map(unicode).join(''))
}

/** The pieces of a text for a place where unsafe characters can stand out: what is safe as it is, and the others as `\\u{200b}`. */
export function piecesOf(text: string, isLine: boolean): (string | { readonly unseen: string })[] {
  const pieces: (string | { readonly unseen: string })[] = []
  let end = 0
  for (const { 0: found, 1: character, index } of text.matchAll(isLine ? unsafe : unsafeInText)) {
    if (character === undefined) continue
    if (index > end) pieces.push(text.slice(end, index))
    pieces.push({ unseen: short[found] ?? `\\u{${(found.codePointAt(0) as number).toString(16)}}` })
    end = index + found.length
  }
  if (end < text.length) pieces.push(text.slice(end))
  return pieces
}

function escapeWith(text: string, characters: RegExp, replace: (character: string) => string): string {
  return text.replace(characters, (kept: string, character: string | undefined) =>
    character === undefined ? kept : replace(character),
  )
}

function visible(character: string): string {
  const point = character.codePointAt(0) as number
  return short[character] ?? (point > 0xffff ? `\\u{${point.toString(16)}}` : unicode(character))
}

function unicode(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
