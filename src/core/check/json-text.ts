/**
 * Duty: judge a JSON text of strangers before it is parsed. A text of a few MB may hold millions of empty objects, or a value that is nested
 * so deep that a walk through it fails.
 * JSON-TEXT-1 The text is read once, from left to right, and no further than to the first problem.
 */

export interface JsonBounds {
  /** How deep objects and lists may be nested. */
  readonly depthMax: number
  /** How many objects, lists and names of fields there may be in all. */
  readonly partsMax: number
}

const lineBreak = 0x0a
const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const openList = 0x5b
const closeList = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

/** What is wrong with the text, as the end of a sentence that begins with the name of the text; null if it is within bounds. It need not be JSON. */
export function jsonTextProblem(text: string, { depthMax, partsMax }: JsonBounds): string | null {
  let depth = 0
  let parts = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      at = endOfString(text, at)
    } else if (code === openObject || code === openList) {
      depth += 1
      parts += 1
      if (depth > depthMax) return `is nested more than ${depthMax} deep`
    } else if (code === closeObject || code === closeList) {
      depth -= 1
    } else if (code === colon) {
      parts += 1
    }
    if (parts > partsMax) return `has more than ${partsMax} objects, lists and names of fields`
  }
  return null
}

/** The position of the closing quote. A text of JSON holds no line break, so one that was cut off ends with its line. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote || code === lineBreak) return at
    if (code === backslash) at += 1
  }
  return text.length
}
