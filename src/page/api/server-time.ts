/**
 * Duty: know the time of the server, because the clock of the reader's machine may be hours off.
 * SERVER-TIME-1 The time comes with each answer (`Date`), to the second. Before the first answer nobody knows it.
 * SERVER-TIME-2 That answers are rounded and take a while moves it neither back nor by more than a second: ages grow evenly.
 */

/** `Date` is up to a second old, and an answer takes up to another one. */
const lateMs = 2_000

let aheadMs = 0
const firstAnswer = Promise.withResolvers<void>()

/** Notes by how much the clock of the server is ahead of this one. */
export function noteServerTime({ headers }: Pick<Response, 'headers'>): void {
  const ahead = Date.parse(headers.get('date') ?? '') - Date.now()
  if (ahead > aheadMs || ahead < aheadMs - lateMs) aheadMs = ahead
  firstAnswer.resolve()
}

/** Waits for the first answer of the server. */
export async function serverTime(): Promise<number> {
  await firstAnswer.promise
  return serverTimeNow(Date.now())
}

/** The time of the server at a time of this machine; the same one before the first answer. */
export function serverTimeNow(here: number): number {
  return here + aheadMs
}
