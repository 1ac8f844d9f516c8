/** Duty: choose a row of a list by keyboard: `j` and `k` move, Enter opens. */
import { useState } from 'react'
import { type Key, useKeys } from '../../app/keys.ts'

export interface RowKeys {
  readonly chosen: number
  readonly choose: (index: number) => void
}

export function useRowKeys(
  title: string,
  count: number,
  open: (index: number) => void,
  more: (chosen: number) => readonly Key[] = () => [],
): RowKeys {
  const [wanted, choose] = useState(0)
  const chosen = Math.min(wanted, count - 1)
  const move = (by: number) => choose(Math.max(0, Math.min(count - 1, chosen + by)))
  useKeys(title, [
    { key: 'j', does: 'next row', run: () => move(1) },
    { key: 'k', does: 'row before', run: () => move(-1) },
    { key: 'Enter', does: 'open it', run: () => count > 0 && open(chosen) },
    ...more(chosen),
  ])
  return { chosen, choose }
}
