/** Duty: the title in the bar, which each screen sets for itself. */
import { type ReactNode, useEffect } from 'react'
import { newStore, useStore } from '../../store.ts'
import { Line } from './text.tsx'

const title = newStore('')

export function useTitle(text: string): void {
  useEffect(() => title.set(text), [text])
}

export function TitleSlot(): ReactNode {
  return (
    <h1 className="bar-title cut">
      <Line text={useStore(title)} />
    </h1>
  )
}
