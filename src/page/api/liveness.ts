/**
 * Duty: know whether what the page shows is fresh: live, paused by the reader, or stale since some moment.
 * LIVENESS-1 Stale means that the last request failed; what is shown then is as old as the last answer.
 */
import { newStore, useStore } from '../store.ts'
import { serverTimeNow } from './server-time.ts'

export type Liveness =
  | { readonly state: 'live' }
  | { readonly state: 'paused' }
  | { readonly state: 'stale'; readonly since: number; readonly why: string }

let lastAnswer = Date.now()
/** Why the last request failed; null if it did not. */
let silence: string | null = null
let isPaused = false
const liveness = newStore<Liveness>({ state: 'live' })

function update(): void {
  const next: Liveness = isPaused
    ? { state: 'paused' }
    : silence === null
      ? { state: 'live' }
      : { state: 'stale', since: lastAnswer, why: silence }
  const current = liveness.get()
  const isSame =
    next.state === current.state &&
    (next.state !== 'stale' || current.state !== 'stale' || (next.since === current.since && next.why === current.why))
  if (!isSame) liveness.set(next)
}

export function noteAnswer(): void {
  lastAnswer = serverTimeNow(Date.now())
  silence = null
  update()
}

export function noteSilence(why: string): void {
  silence = why
  update()
}

export function togglePause(): void {
  isPaused = !isPaused
  update()
}

export function useLiveness(): Liveness {
  return useStore(liveness)
}

/** How often a query repeats itself; false while the reader has paused the page. */
export function useRefresh(ms: number): number | false {
  return useLiveness().state === 'paused' ? false : ms
}
