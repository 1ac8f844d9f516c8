/** Duty: durations as people write and read them (`7d`, `90s`, `1h30m`), and moments as a time of day or a date. */
import { InputError } from '../core/errors.ts'

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}
const whole = /^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/
const part = /(\d+(?:\.\d+)?)(ms|[smhdw])/g

/** `7d`, `12h`, `90s`, `1h30m`, or `0`. Any other number needs a unit, because a default unit would be a guess. */
export function parseDuration(text: string): number {
  const trimmed = text.trim()
  if (trimmed === '0') return 0
  if (!whole.test(trimmed)) {
    throw new InputError(
      `"${text}" is not a duration: write a number with ms, s, m, h, d or w, such as 90s, 12h or 7d.`,
    )
  }
  let total = 0
  for (const [, amount, unit] of trimmed.matchAll(part)) total += Number(amount) * (unitMs[unit as string] as number)
  if (!Number.isSafeInteger(Math.round(total))) throw new InputError(`"${text}" is too long a duration.`)
  return Math.round(total)
}

/** At most two units: `3d 4h`, `12m 5s`, `4.2s`, `180ms`. Never negative, although the clocks of two machines differ a little. */
export function formatDuration(ms: number): string {
  const value = Math.max(0, Math.round(ms))
  if (value < 1_000) return `${value}ms`
  if (value < 10_000) return `${(Math.floor(value / 100) / 10).toFixed(1)}s`
  const seconds = Math.floor(value / 1_000)
  const units: [amount: number, name: string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ]
  const first = units.findIndex(([amount]) => amount > 0)
  return units
    .slice(first, first + 2)
    .filter(([amount], index) => index === 0 || amount > 0)
    .map(([amount, name]) => `${amount}${name}`)
    .join(' ')
}

/** As `formatDuration`, in whole seconds: for a number that is drawn again and again. */
export function formatSeconds(ms: number): string {
  return ms < 10_000 ? `${Math.max(0, Math.floor(ms / 1_000))}s` : formatDuration(ms)
}

/** `12:00:01`, in the time zone of the reader. */
export function formatTime(at: number): string {
  const date = new Date(at)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')
}

/** `2026-11-21 12:00:01`, in the time zone of the reader. */
export function formatMoment(at: number): string {
  const date = new Date(at)
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0'))
  return `${day.join('-')} ${formatTime(at)}`
}

/** A moment and its age; null if the moment is not known. */
export function momentAndAge(at: number | null): string | null {
  return at === null ? null : `${formatMoment(at)} (${formatDuration(Date.now() - at)} ago)`
}

/** A moment, and how far ahead it is, or its age if it is over; null if the moment is not known. */
export function momentAndDistance(at: number | null): string | null {
  if (at === null || at <= Date.now()) return momentAndAge(at)
  return `${formatMoment(at)} (in ${formatDuration(at - Date.now())})`
}
