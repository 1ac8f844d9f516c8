/** Duty: the hours and days by which usage is kept, and which numbers are times at all. */

export const msOfHour = 3_600_000
export const msOfDay = 24 * msOfHour

/** What a Date can hold, in ms since 1970. Whoever writes another number as a date gets an error. */
const timeMsMax = 8.64e15

export function isTime(ms: number): boolean {
  return Math.abs(ms) <= timeMsMax
}
