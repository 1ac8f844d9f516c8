/**
 * Duty: know the time of the server, because the clock of the reader's machine may be hours off.
 * SERVER-TIME-1 The time comes with each answer (`Date`), to the second. Before the first answer nobody knows it.
 */

let aheadMs = 0
const firstAnswer = Promise.withResolvers<void>()

/** Notes by how much the clock of the server is ahead of this one. */
export function noteServerTime({ headers }: Pick<Response, 'headers'>): void {
  const at = Date.parse(headers.get('date') ?? '')
  if (!Number.isNaN(at)) aheadMs = at - Date.now()
  firstAnswer.resolve()
}

/** Waits for the first answer of the server. */
export async function serverTime(): Promise<number> {
  await firstAnswer.promise
  return Date.now() + aheadMs
}
