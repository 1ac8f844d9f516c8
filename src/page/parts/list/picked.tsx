/**
 * Duty: pick several rows of a list, and say what can be done with all of them.
 * PICKED-1 A row that has left the list is not picked any more: nobody acts on what they do not see.
 */
import { type ReactNode, useState } from 'react'
import { escapeLine } from '../../../words/text/escape.ts'
import type { Key } from '../../keys.ts'
import type { Column } from './table.tsx'

export interface Picked<Row> {
  /** The picked rows, in the order of the list. */
  readonly rows: readonly Row[]
  /** True if the whole list is picked. */
  readonly isAll: boolean
  readonly has: (row: Row) => boolean
  readonly toggle: (row: Row) => void
  /** Picks the whole list, or nothing if all of it is picked. */
  readonly toggleAll: () => void
  readonly clear: () => void
}

export function usePicked<Row>(list: readonly Row[], idOf: (row: Row) => string): Picked<Row> {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const rows = list.filter((row) => ids.has(idOf(row)))
  const isAll = rows.length > 0 && rows.length === list.length
  return {
    rows,
    isAll,
    has: (row) => ids.has(idOf(row)),
    toggle: (row) => setIds(new Set(ids).symmetricDifference(new Set([idOf(row)]))),
    toggleAll: () => setIds(new Set(isAll ? [] : list.map(idOf))),
    clear: () => setIds(new Set()),
  }
}

/** The keys of a list that can be picked from; `row`: the one that the keyboard has chosen. */
export function pickKeys<Row>({ toggle, toggleAll }: Picked<Row>, row: Row | undefined): readonly Key[] {
  return [
    { key: ' ', does: 'pick it, or not', run: () => row !== undefined && toggle(row) },
    { key: '*', does: 'pick all, or none', run: toggleAll },
  ]
}

interface PickBoxProps<Row> {
  readonly picked: Picked<Row>
  readonly row: Row
  readonly name: string
}

export function PickBox<Row>({ picked, row, name }: PickBoxProps<Row>): ReactNode {
  return (
    <input
      type="checkbox"
      aria-label={`Pick ${escapeLine(name)}`}
      checked={picked.has(row)}
      onChange={() => picked.toggle(row)}
    />
  )
}

export function pickColumn<Row>(picked: Picked<Row>, nameOf: (row: Row) => string): Column<Row> {
  return {
    head: <input type="checkbox" aria-label="Pick all" checked={picked.isAll} onChange={picked.toggleAll} />,
    cell: (row) => <PickBox picked={picked} row={row} name={nameOf(row)} />,
    className: 'pick',
  }
}

/** What can be done with the picked rows. Nothing while none is picked. */
export function PickBar<Row>({
  picked: { rows, clear },
  children,
}: {
  readonly picked: Picked<Row>
  readonly children: ReactNode
}): ReactNode {
  if (rows.length === 0) return null
  return (
    <div className="pick-bar" role="toolbar" aria-label="With all that are picked">
      <strong className="number">{rows.length} picked</strong>
      {children}
      <button type="button" className="button plain" onClick={clear}>
        None <kbd>Esc</kbd>
      </button>
    </div>
  )
}
