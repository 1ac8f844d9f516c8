/** Duty: give the present time of the server to all ages on the page: one clock, which stands still while the page is hidden. */
import { serverTimeNow } from './api/server-time.ts'
import { newStore, useStore } from './store.ts'

const now = newStore(Date.now())

setInterval(() => {
  if (!document.hidden) now.set(Date.now())
}, 1_000)

export function useNow(): number {
  return serverTimeNow(useStore(now))
}
