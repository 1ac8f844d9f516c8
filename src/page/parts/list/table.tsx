/** Duty: rows of the same sort as a table; the one that the keyboard chooses comes into sight. */
import type { ReactNode } from 'react'
import { useInSight } from './in-sight.ts'

export interface Column<Row> {
  readonly head: ReactNode
  readonly cell: (row: Row) => ReactNode
  /** `number`: aligned to the right. `wide`: left out in a narrow window. */
  readonly className?: string
}

interface TableProps<Row> {
  /** Read to those who hear the page. */
  readonly name: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** The row that the keyboard has chosen. */
  readonly chosen?: number
}

export function Table<Row>({ name, columns, rows, keyOf, chosen }: TableProps<Row>): ReactNode {
  const row = rows[chosen ?? -1]
  const body = useInSight<HTMLTableSectionElement>(row && keyOf(row))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: in a narrow window it scrolls, and the keyboard must reach it for that
    <section className="table-wrap" tabIndex={0} aria-label={name}>
      <table className="table">
        <thead>
          <tr>
            {columns.map(({ head, className }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns never move
              <th key={at} scope="col" className={className}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, index) => (
            <tr key={keyOf(row)} data-chosen={index === chosen}>
              {columns.map(({ cell, className }, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns never move
                <td key={at} className={className}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
