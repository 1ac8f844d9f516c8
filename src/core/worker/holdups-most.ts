/** Duty: how many holdups a report of a session has at most. It may have left some out if it has as many. */
export const holdupsMost = 20
