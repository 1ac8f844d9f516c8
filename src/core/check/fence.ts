/**
 * Duty: find the text within a code fence, as models put it around JSON.
 * Works line by line, because one pattern for a whole fence would take cubic time on a text of many line breaks.
 */

const opening = /^\s{0,3}(`{3,}|~{3,})[^`\n]*$/

/** The text within the fence, if the whole text is one fence, with any word or none behind its beginning. Otherwise the text itself. */
export function withoutFence(text: string): string {
  const lines = text.trim().split('\n')
  const end = endOfFence(lines, 0)
  return end === lines.length - 1 ? lines.slice(1, end).join('\n') : text
}

/** Like `withoutFence`, for a fence that begins and ends on the same line: `` ```json {"a":1}``` ``. */
export function withoutInlineFence(text: string): string {
  const line = text.trim()
  if (line.length < 6 || line.includes('\n') || !line.startsWith('```') || !line.endsWith('```')) return text
  return line.slice(3, -3).replace(/^[a-z0-9+-]*(?=[\s[{"])/i, '')
}

/** The text within the only fence of a text that has more around it. Null if it has none, or several. */
export function onlyFenceIn(text: string): string | null {
  const lines = text.split('\n')
  let found: string | null = null
  /** The fewest marks that no later line ends. Without it, a text of beginnings would be looked through from each of them. */
  const endless: Record<string, number> = {}
  for (let index = 0; index < lines.length; index++) {
    const marks = marksAt(lines, index)
    const [mark = ''] = marks
    if (mark === '' || marks.length >= (endless[mark] ?? Infinity)) continue
    const end = endOfFence(lines, index)
    if (end === null) {
      endless[mark] = marks.length
      continue
    }
    if (found !== null) return null
    found = lines.slice(index + 1, end).join('\n')
    index = end
  }
  return found
}

/** The line on which the fence ends that begins on this one. Null if no fence begins there, or if the fence has no end. */
function endOfFence(lines: readonly string[], at: number): number | null {
  const marks = marksAt(lines, at)
  const [mark] = marks
  if (mark === undefined) return null
  for (let index = at + 1; index < lines.length; index++) {
    const line = (lines[index] as string).trim()
    if (line.length >= marks.length && line === mark.repeat(line.length)) return index
  }
  return null
}

/** The marks of the fence that begins on this line; empty if none does. */
function marksAt(lines: readonly string[], at: number): string {
  return opening.exec(lines[at] ?? '')?.[1] ?? ''
}
