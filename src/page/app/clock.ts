/** Duty: the time of now for ages on the page: one clock for all of them, that stands still while the page is hidden. */
import { useSyncExternalStore } from 'react'

let now = Date.now()
const listeners = new Set<() => void>()

setInterval(() => {
  if (document.hidden || listeners.size === 0) return
  now = Date.now()
  for (const listener of listeners) listener()
}, 1_000)

export function useNow(): number {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => now,
  )
}
