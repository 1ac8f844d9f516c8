/**
 * Duty: a history from its beginning, page by page. An entry has a hundred bytes or a million: a page holds as many as will have about
 * so many bytes by the size of those before, so that no read holds Redis, or fills this process, for long.
 */
import type { AuditStore } from '../store/audit-store.ts'

const firstPage = 50
const mostEntries = 1_000
const pageBytes = 4_194_304

/** The entries up to this length. Ends early where the history is shorter. */
export async function* historyPages(
  store: Pick<AuditStore, 'entries'>,
  workerId: string,
  length: number,
): AsyncGenerator<readonly string[]> {
  let [position, most] = [0, firstPage]
  while (position < length) {
    const page = await store.entries(workerId, position, Math.min(most, length - position))
    if (page.length === 0) return
    yield page
    position += page.length
    const bytes = page.reduce((sum, json) => sum + json.length, 0)
    most = Math.min(mostEntries, Math.max(1, Math.floor((pageBytes * page.length) / Math.max(1, bytes))), most * 4)
  }
}
