/**
 * Duty: rows as a table that fits the terminal.
 * Columns that may be cut (`shrinks`) give way first, the widest first; what must stay whole (ids, to be copied) is never cut.
 * Where even that does not fit, each row becomes a block of `header  value` lines. Without a terminal nothing is cut.
 */
import { escapeLine } from './escape.ts'
import { fitText, textWidth } from './text-width.ts'

export interface Column<Row> {
  readonly header: string
  readonly value: (row: Row) => string | number | null | undefined
  readonly align?: 'right'
  /** May be cut down to this many columns. */
  readonly shrinksTo?: number
  /** Colours a cell that is padded and safe already. */
  readonly paint?: (cell: string, row: Row) => string
}

const gap = '  '

/** The lines of the table; no row gives none. `columnsMax` is the width of the terminal, Infinity where there is none. */
export function tableLines<Row>(rows: readonly Row[], columns: readonly Column<Row>[], columnsMax: number): string[] {
  if (rows.length === 0) return []
  const cells = rows.map((row) => columns.map((column) => escapeLine(String(column.value(row) ?? ''))))
  const widths = fitWidths(columns, naturalWidths(columns, cells), columnsMax)
  if (!widths) return blockLines(rows, columns, cells, columnsMax)

  const lay = (texts: readonly string[], row?: Row) =>
    texts
      .map((text, index) => {
        const column = columns[index] as Column<Row>
        const isLast = index === columns.length - 1
        const cell = pad(fitText(text, widths[index] as number), widths[index] as number, column.align, isLast)
        return row !== undefined && column.paint ? column.paint(cell, row) : cell
      })
      .join(gap)
      .trimEnd()
  const header = lay(columns.map(({ header }) => header.toUpperCase()))
  return [header, ...cells.map((texts, index) => lay(texts, rows[index]))]
}

function naturalWidths<Row>(columns: readonly Column<Row>[], cells: readonly (readonly string[])[]): number[] {
  return columns.map(({ header }, index) =>
    cells.reduce((most, texts) => Math.max(most, textWidth(texts[index] as string)), textWidth(header)),
  )
}

/** Widths that fit, or undefined when nothing more may be cut. */
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
  columnsMax: number,
): string[] {
  const label = columns.reduce((most, { header }) => Math.max(most, header.length), 0)
  return cells.flatMap((texts, rowIndex) => {
    const lines = texts.flatMap((text, index) => {
      const column = columns[index] as Column<Row>
      if (text === '') return []
      const room = Math.max(8, columnsMax - label - gap.length)
      const value = column.shrinksTo === undefined ? text : fitText(text, room)
      const painted = column.paint ? column.paint(value, rows[rowIndex] as Row) : value
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
