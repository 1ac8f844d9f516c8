/** Duty: the hours and days by which usage is kept. */

export const msOfHour = 3_600_000
export const msOfDay = 24 * msOfHour
