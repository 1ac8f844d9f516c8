/** Duty: the hour of a row of costs, by the clock of the reader. Its zone tells apart two hours of one name, when clocks are set back. */

const form = {
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
} as const

/** `timeZone`: default, that of the reader. */
export function hourText(hour: string | undefined, timeZone?: string): string {
  const at = Date.parse(hour ?? '')
  return Number.isNaN(at) ? (hour ?? '') : new Date(at).toLocaleString(undefined, { ...form, timeZone })
}
