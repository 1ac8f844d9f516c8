/** Duty: bring the row of a list that the keyboard has chosen into sight. */
import { type RefObject, useEffect, useRef } from 'react'

/**
 * Returns the ref of the list. `key`: that of the chosen row; undefined while none is chosen. The first row is chosen without a key of the reader, who
 * looks at the top of the page: it comes into sight only if it `isNamed`, by the address of the page.
 */
export function useInSight<List extends HTMLElement>(key: string | undefined, isNamed = false): RefObject<List | null> {
  const list = useRef<List>(null)
  const last = useRef<string>(undefined)
  useEffect(() => {
    const before = last.current
    if (key === undefined || key === before) return
    last.current = key
    if (before !== undefined || isNamed)
      list.current?.querySelector('[data-chosen=true]')?.scrollIntoView({ block: 'nearest' })
  }, [key, isNamed])
  return list
}
