/**
 * Duty: lines on a terminal that are drawn again in place. Any other code that writes there passes its lines through here, or wipes
 * these lines first.
 * DRAWN-1 A frame is one write, between the marks of synchronized output. A line that did not change is not written again.
 * DRAWN-2 After a change of the width the terminal has broken the old lines anew. They are wiped with all rows that they take now.
 * DRAWN-3 The cursor stands below the lines, or where the caller wants it in one of them. Each frame begins from there.
 * DRAWN-4 A line that is wider than the terminal loses its styles and its end: the terminal would break it, and the next frame would begin from a
 *         wrong row.
 */
import { stripVTControlCharacters } from 'node:util'
import { fitText, textWidth } from '../../words/text/text-width.ts'
import { columnsOf, write } from './output.ts'

const frameBegin = '\u001b[?2026h'
const frameEnd = '\u001b[?2026l'
const toLineEnd = '\u001b[K'
const toScreenEnd = '\u001b[J'
/** The cursor goes to the first column, because a person types where the cursor is. */
const up = (rows: number) => (rows > 0 ? `\r\u001b[${rows}A` : '')
const down = (rows: number) => (rows > 0 ? `\u001b[${rows}B` : '')
const right = (columns: number) => (columns > 0 ? `\u001b[${columns}C` : '')

/** A place in the drawn lines, counted from 0. */
export interface CursorPlace {
  readonly line: number
  readonly column: number
}

export class DrawnLines {
  readonly #stream: NodeJS.WriteStream
  #lines: readonly string[] = []
  #columns = 0
  /** How many rows the cursor stands above the row that follows the lines. */
  #raised = 0

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  get areThere(): boolean {
    return this.#lines.length > 0
  }

  /** The most columns of a line: a full line would be broken by some terminals, and count as two. */
  get columns(): number {
    return columnsOf(this.#stream) - 1
  }

  /** Draws these lines in place of the last ones. `above` are lines that stay, before them. */
  draw(lines: readonly string[], above: readonly string[] = [], cursor?: CursorPlace): void {
    if (lines.length === 0 && above.length === 0 && !this.areThere) return
    const fromBelow = this.#lower()
    const { columns } = this
    const isSameWidth = this.#columns === columns
    const fitted = lines.map((line) => fitLine(line, columns))
    const text =
      above.length === 0 && isSameWidth && this.areThere
        ? changes(this.#lines, fitted)
        : this.#wholeFrame([...above, ...fitted])
    this.#lines = fitted
    this.#columns = columns
    const moved = `${fromBelow}${text}${this.#raise(cursor)}`
    if (moved !== '') write(this.#stream, `${frameBegin}${moved}${frameEnd}`)
  }

  /** Leaves the lines where they are. Later lines are drawn below them. */
  leave(): void {
    const fromBelow = this.#lower()
    if (fromBelow !== '') write(this.#stream, fromBelow)
    this.#lines = []
  }

  wipe(): void {
    if (this.areThere) write(this.#stream, `${this.#lower()}${up(this.#rows())}${toScreenEnd}`)
    this.#lines = []
  }

  /** Moves from where the cursor stands to the row that follows the lines. */
  #lower(): string {
    const rows = this.#raised
    this.#raised = 0
    return rows === 0 ? '' : `\r${down(rows)}`
  }

  #raise(cursor: CursorPlace | undefined): string {
    if (cursor === undefined) return ''
    this.#raised = this.#lines.length - cursor.line
    return `${up(this.#raised)}${right(cursor.column)}`
  }

  /** Each old row is overwritten, and never empty in between, also on a terminal without synchronized output. */
  #wholeFrame(lines: readonly string[]): string {
    const isBroken = this.areThere && this.#columns !== this.columns
    return `${up(this.#rows())}${isBroken ? toScreenEnd : ''}${lines.map((line) => `${line}${toLineEnd}\n`).join('')}${toScreenEnd}`
  }

  /** How many rows the drawn lines take at the present width. */
  #rows(): number {
    const columns = columnsOf(this.#stream)
    const rows = (line: string) => Math.max(1, Math.ceil(textWidth(stripVTControlCharacters(line)) / columns))
    return this.#lines.reduce((sum, line) => sum + rows(line), 0)
  }
}

function fitLine(line: string, columns: number): string {
  const text = stripVTControlCharacters(line)
  return textWidth(text) <= columns ? line : fitText(text, columns)
}

/** Moves from the row below the old lines to the row below the new ones, and writes only what changed. */
function changes(old: readonly string[], lines: readonly string[]): string {
  const first = lines.findIndex((line, index) => line !== old[index])
  if (first < 0 && lines.length === old.length) return ''
  let text = up(old.length)
  let unchanged = 0
  for (const [index, line] of lines.entries()) {
    if (line === old[index]) {
      unchanged++
      continue
    }
    text += `${down(unchanged)}${line}${toLineEnd}\n`
    unchanged = 0
  }
  return `${text}${down(unchanged)}${lines.length < old.length ? toScreenEnd : ''}`
}
