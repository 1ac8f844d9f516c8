/** Duty: the width of a text in columns of a terminal, and text that is cut or wrapped to fit. The text is escaped already. */

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const plain = /^[\u0020-\u007e]*$/
/** East Asian wide and full-width characters, and emoji: also a character that a selector makes one, such as a red heart. */
const wide =
  /^(?:\p{Emoji}\ufe0f|\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}])/u
const invisible = /^[\p{Mark}\p{Default_Ignorable_Code_Point}]+$/u

export function textWidth(text: string): number {
  if (plain.test(text)) return text.length
  let width = 0
  for (const { segment } of segments.segment(text)) width += segmentWidth(segment)
  return width
}

/** The text, or its beginning and an ellipsis if the text is too wide. */
export function fitText(text: string, columns: number): string {
  if (text.length <= columns && plain.test(text)) return text
  if (columns < 1) return ''
  let kept = ''
  let width = 0
  // Stops early: the text may be a mebibyte long.
  for (const { segment } of segments.segment(text)) {
    width += segmentWidth(segment)
    if (width > columns) return `${kept.trimEnd()}…`
    if (width < columns) kept += segment
  }
  return text
}

/** The text, or an ellipsis and its end if the text is too wide. */
export function fitTextEnd(text: string, columns: number): string {
  if (columns < 1) return ''
  // The text may be long, and only its end is measured.
  const end = text.slice(-columns * 4)
  let width = end.length < text.length ? Number.POSITIVE_INFINITY : textWidth(end)
  if (width <= columns) return text
  const parts = [...segments.segment(end)].map(({ segment }) => segment)
  let kept = ''
  width = 1
  for (const segment of parts.toReversed()) {
    width += segmentWidth(segment)
    if (width > columns) break
    kept = segment + kept
  }
  return `…${kept}`
}

/** Breaks the text into lines at spaces. A word that is longer than a line stays whole. */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && textWidth(line) + 1 + textWidth(word) > columns) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** Breaks the text into lines of at most `columns` columns: at its line breaks, and anywhere else. */
export function breakText(text: string, columns: number): string[] {
  return text.split('\n').flatMap((whole) => {
    const lines: string[] = []
    let line = ''
    let width = 0
    for (const { segment } of segments.segment(whole)) {
      const more = segmentWidth(segment)
      if (width + more > columns && line !== '') {
        lines.push(line)
        line = ''
        width = 0
      }
      line += segment
      width += more
    }
    return [...lines, line]
  })
}

function segmentWidth(segment: string): number {
  if (invisible.test(segment)) return 0
  return wide.test(segment) ? 2 : 1
}
