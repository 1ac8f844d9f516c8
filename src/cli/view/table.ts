/**
 * Duty: rows as a table that fits the terminal.
 * TABLE-1 A column that may shrink (`shrinksTo`) gives way first, the widest first. A column that must stay whole, such as an id that
 *         people copy, is never cut.
 * TABLE-2 If that is not enough, columns that a reader can do without (`leftOut`) are left out, and a line below says which.
 * TABLE-3 If that is not enough either, each row becomes a block of `header  value` lines, with all columns.
 * TABLE-4 Without a terminal only a column with `atMost` is cut: long texts that `show` and --json give whole.
 */

import { escapeLine } from '../../words/text/escape.ts'
import { fitText, textWidth } from '../../words/text/text-width.ts'
import type { Page, Style } from './page.ts'

export interface Column<Row> {
  readonly header: string
  readonly value: (row: Row) => string | number | null | undefined
  readonly align?: 'right'
  /** The column may be cut down to this width. */
  readonly shrinksTo?: number
  /** The column is never wider than this, also without a terminal. */
  readonly atMost?: number
  readonly style?: (row: Row) => Style | undefined
  /** Where the table is too wide, these columns are left out: those with the lowest number first. */
  readonly leftOut?: number
}

const gap = '  '

/** The lines of the table. A table without rows has no lines. */
export function tableLines<Row>(rows: readonly Row[], columns: readonly Column<Row>[], page: Page): string[] {
  if (rows.length === 0) return []
  const cells = rows.map((row) => columns.map((column) => cellText(row, column)))
  const fitting = fittingColumns(columns, naturalWidths(columns, cells), page.columns)
  if (!fitting) return blockLines(rows, columns, cells, page)

  const lay = (texts: readonly string[], row?: Row) =>
    fitting
      .map(({ column, at, width }, index) => {
        const isLast = index === fitting.length - 1
        const cell = pad(fitText(texts[at] as string, width), width, column.align, isLast)
        return row !== undefined && column.style ? page.paint(column.style(row), cell) : cell
      })
      .join(gap)
      .trimEnd()
  const header = lay(columns.map(({ header }) => header.toUpperCase()))
  const left = columns.filter((one) => !fitting.some(({ column }) => column === one)).map(({ header }) => header)
  const note = left.length === 0 ? [] : ['', page.paint('dim', `There is no room for: ${left.join(', ')}.`)]
  return [header, ...cells.map((texts, index) => lay(texts, rows[index])), ...note]
}

interface Fitting<Row> {
  readonly column: Column<Row>
  /** Its place among all columns. */
  readonly at: number
  readonly width: number
}

/** The columns for which there is room (TABLE-2), or undefined when the others do not fit either. */
function fittingColumns<Row>(columns: readonly Column<Row>[], natural: readonly number[], columnsMax: number) {
  let kept = columns.map((column, at): Fitting<Row> => ({ column, at, width: natural[at] as number }))
  for (;;) {
    const widths = fitWidths(
      kept.map(({ column }) => column),
      kept.map(({ width }) => width),
      columnsMax,
    )
    if (widths) return kept.map((one, index) => ({ ...one, width: widths[index] as number }))
    const least = kept.reduce((least, { column: { leftOut = Infinity } }) => Math.min(least, leftOut), Infinity)
    if (least === Infinity) return undefined
    kept = kept.filter(({ column }) => column.leftOut !== least)
  }
}

function cellText<Row>(row: Row, { value, atMost }: Column<Row>): string {
  const text = escapeLine(String(value(row) ?? ''))
  return atMost === undefined ? text : fitText(text, atMost)
}

function naturalWidths<Row>(columns: readonly Column<Row>[], cells: readonly (readonly string[])[]): number[] {
  return columns.map(({ header }, index) =>
    cells.reduce((most, texts) => Math.max(most, textWidth(texts[index] as string)), textWidth(header)),
  )
}

/** Widths that fit, or undefined when no column can shrink any further. */
function fitWidths<Row>(columns: readonly Column<Row>[], natural: readonly number[], columnsMax: number) {
  const widths = [...natural]
  const least = columns.map(({ shrinksTo, header }, index) =>
    shrinksTo === undefined
      ? (natural[index] as number)
      : Math.min(natural[index] as number, Math.max(shrinksTo, header.length)),
  )
  let excess = sum(widths) + gap.length * (columns.length - 1) - columnsMax
  while (excess > 0) {
    let widest = -1
    for (const [index, width] of widths.entries()) {
      if (width > (least[index] as number) && (widest < 0 || width > (widths[widest] as number))) widest = index
    }
    if (widest < 0) return undefined
    widths[widest] = (widths[widest] as number) - 1
    excess--
  }
  return widths
}

function blockLines<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  cells: readonly (readonly string[])[],
  page: Page,
): string[] {
  const label = columns.reduce((most, { header }) => Math.max(most, header.length), 0)
  return cells.flatMap((texts, rowIndex) => {
    const lines = texts.flatMap((text, index) => {
      const column = columns[index] as Column<Row>
      if (text === '') return []
      const room = Math.max(8, page.columns - label - gap.length)
      const value = column.shrinksTo === undefined ? text : fitText(text, room)
      const painted = column.style ? page.paint(column.style(rows[rowIndex] as Row), value) : value
      return [`${column.header.toUpperCase().padEnd(label)}${gap}${painted}`]
    })
    return rowIndex === 0 ? lines : ['', ...lines]
  })
}

function pad(text: string, width: number, align: 'right' | undefined, isLast: boolean): string {
  const space = ' '.repeat(Math.max(0, width - textWidth(text)))
  if (align === 'right') return space + text
  return isLast ? text : text + space
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
