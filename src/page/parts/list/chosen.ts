/**
 * Duty: the row of a list that the keyboard has chosen: by its id, as rows come and go.
 * CHOSEN-1 If the chosen row leaves the list, none is chosen until the reader moves on: a key that was meant for one row does nothing to the row that
 *          came into its place.
 */
import { useLayoutEffect, useRef, useState } from 'react'

export interface Chosen<Row> {
  /** Undefined: none is chosen. */
  readonly row: Row | undefined
  readonly id: string | null
  readonly choose: (id: string | null) => void
  readonly move: (by: 1 | -1) => void
}

/** At first the row with the id `begin` is chosen; if that is null, the first one. */
export function useChosen<Row>(
  list: readonly Row[],
  idOf: (row: Row) => string,
  begin: string | null = null,
): Chosen<Row> {
  const [id, choose] = useState(begin)
  const first = list[0] === undefined ? null : idOf(list[0])
  // Whoever sees the list may press a key at once.
  useLayoutEffect(() => {
    if (id === null) choose(first)
  }, [id, first])
  const index = list.findIndex((row) => idOf(row) === id)
  const place = useRef(0)
  if (index >= 0) place.current = index
  const move = (by: 1 | -1) => {
    const to = index < 0 ? place.current : index + by
    const next = list[Math.max(0, Math.min(list.length - 1, to))]
    if (next !== undefined) choose(idOf(next))
  }
  return { row: list[index], id, choose, move }
}
