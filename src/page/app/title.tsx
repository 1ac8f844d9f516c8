/** Duty: the title in the bar, which each screen sets for itself. */
import { type ReactNode, useEffect, useSyncExternalStore } from 'react'
import { Line } from '../parts/text.tsx'

let title = ''
const listeners = new Set<() => void>()

export function useTitle(text: string): void {
  useEffect(() => {
    title = text
    for (const listener of listeners) listener()
  }, [text])
}

export function TitleSlot(): ReactNode {
  const text = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => title,
  )
  return (
    <h1 className="bar-title cut">
      <Line text={text} />
    </h1>
  )
}
