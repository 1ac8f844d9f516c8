/** Duty: choose a row of a list by keyboard: `j` and `k` move, Enter opens. */
import { type Key, useKeys } from '../../keys.ts'
import { useChosen } from './chosen.ts'

/** Returns the number of the chosen row; -1 while none is. `more`: further keys, for the chosen row. */
export function useRowKeys<Row>(
  title: string,
  {
    rows,
    idOf,
    open,
  }: { readonly rows: readonly Row[]; readonly idOf: (row: Row) => string; readonly open: (row: Row) => void },
  more: (chosen: Row | undefined) => readonly Key[] = () => [],
): number {
  const { row, move } = useChosen(rows, idOf)
  useKeys(title, [
    { key: 'j', does: 'next row', run: () => move(1) },
    { key: 'k', does: 'row before', run: () => move(-1) },
    { key: 'Enter', does: 'open it', run: () => row !== undefined && open(row) },
    ...more(row),
  ])
  return row === undefined ? -1 : rows.indexOf(row)
}
