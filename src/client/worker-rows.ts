/** Duty: the rows of any number of workers, in pieces: each has a deadline of its own, and none holds Redis or this process for long. */
import type { InspectStore, WorkerRow } from '../store/inspect-store.ts'

const pieceSize = 500

/** Of those that exist, in the order of `ids`. */
export async function readRows(store: InspectStore, ids: readonly string[]): Promise<WorkerRow[]> {
  const rows: WorkerRow[] = []
  for (let from = 0; from < ids.length; from += pieceSize)
    rows.push(...(await store.workers(ids.slice(from, from + pieceSize))))
  return rows
}
