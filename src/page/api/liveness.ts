/**
 * Duty: know whether what the page shows is fresh: live, paused by the reader, or stale since some moment.
 * LIVENESS-1 Stale means that something that is shown could not be read again. It is then as old as the last moment at which all of it could: where one
 *            partition is away, some requests fail while others are answered.
 */
import { newStore, useStore } from '../store.ts'
import { serverTimeNow } from './server-time.ts'

export type Liveness =
  | { readonly state: 'live' }
  | { readonly state: 'paused' }
  | { readonly state: 'stale'; readonly since: number; readonly why: string }

let lastAnswer = Date.now()
/** Why requests failed that were not answered since, by what they are about. */
const silences = new Map<string, { readonly why: string; readonly at: number }>()
/** What is shown is asked again sooner than this. A failure that is older is of something that is not shown any more. */
const failureMsMost = 15_000
let isPaused = false
const liveness = newStore<Liveness>({ state: 'live' })

function update(): void {
  const silence = [...silences.values()].at(-1)
  const next: Liveness = isPaused
    ? { state: 'paused' }
    : silence === undefined
      ? { state: 'live' }
      : { state: 'stale', since: lastAnswer, why: silence.why }
  const current = liveness.get()
  const isSame =
    next.state === current.state &&
    (next.state !== 'stale' || current.state !== 'stale' || (next.since === current.since && next.why === current.why))
  if (!isSame) liveness.set(next)
}

/** `about`: the path of the request. */
export function noteAnswer(about: string): void {
  silences.delete(about)
  for (const [other, { at }] of silences) if (performance.now() - at > failureMsMost) silences.delete(other)
  if (silences.size === 0) lastAnswer = serverTimeNow(Date.now())
  update()
}

export function noteSilence(about: string, why: string): void {
  silences.set(about, { why, at: performance.now() })
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
