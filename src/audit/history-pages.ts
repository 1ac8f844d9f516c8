/**
 * Duty: read a history from its beginning, page by page.
 * PAGES-1 An entry has a hundred bytes or a million. So the size of each page follows from the size of the entries before it: no read blocks Redis
 *    for long, or fills the memory of this process.
 */
import type { AuditStore } from '../store/audit/audit-store.ts'

const firstPage = 50
const mostEntries = 1_000
const pageBytes = 4_194_304

/** Yields the first `length` entries. It ends early if the history is shorter. */
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
