/** Duty: give the present time to all ages on the page: one clock, which stands still while the page is hidden. */
import { newStore, useStore } from '../store.ts'

const now = newStore(Date.now())

setInterval(() => {
  if (!document.hidden) now.set(Date.now())
}, 1_000)

export function useNow(): number {
  return useStore(now)
}
