/** Duty: moments and durations, as ages that grow. */
import type { ReactNode } from 'react'
import { formatDuration, formatMoment, formatTime } from '../../../words/duration.ts'
import { useNow } from '../../clock.ts'

/** `3m 12s`, since a moment. */
export function Age({ since }: { readonly since: number | null }): ReactNode {
  const now = useNow()
  if (since === null) return <span className="muted">–</span>
  return (
    <time className="number" dateTime={new Date(since).toISOString()} title={formatMoment(since)}>
      {ageText(now - since)}
    </time>
  )
}

/** An age in whole seconds, and without the small unit once it says little. */
export function ageText(ms: number): string {
  return formatDuration(Math.max(0, Math.floor(ms / 1_000) * 1_000))
    .replace(/^0ms$/, '0s')
    .replace(/\.0s$/, 's')
}

export function TimeOfDay({ at }: { readonly at: number }): ReactNode {
  return (
    <time className="number muted" dateTime={new Date(at).toISOString()} title={formatMoment(at)}>
      {formatTime(at)}
    </time>
  )
}
