/** Duty: the result of a run, as the entry of the history holds it. */
import { InvariantError } from '../../../core/errors.ts'
import { decodeEntry, type Entry, type RunResult } from '../../../core/history/entry.ts'
import { rootIdOf } from '../../../core/ids.ts'
import type { InspectStore } from '../../../store/audit/inspect-store.ts'

export interface StoredResult {
  readonly sessionId: string
  /** Null: the entry says it. */
  readonly run: number | null
  readonly status: RunResult['status']
  readonly position: number
}

/**
 * Undefined if the record of its session does not name this result any more (`isStillRecorded`): then the caller looks again. During a fail-over the server
 * that is read may be behind the one that told of the end, or may have lost that end since; and a session may be pruned meanwhile.
 */
export async function readStoredResult(
  store: InspectStore,
  { sessionId, run, status, position }: StoredResult,
  isStillRecorded: () => Promise<boolean>,
): Promise<RunResult | undefined> {
  const rootId = rootIdOf(sessionId)
  const read = async () => {
    const json = await store.entryAt(rootId, position)
    return json === null ? null : decodeEntry(json)
  }
  const found = resultIn(await read(), status, run)
  if (found !== null) return found
  if (!(await isStillRecorded())) return undefined
  // It may have come just before its record was read.
  const entry = await read()
  const result = resultIn(entry, status, run)
  if (result !== null) return result
  const place = `entry ${position} of the history of worker ${rootId}`
  const damaged = entry === null ? `${place} should be there` : `${place} should be that it ${status}`
  throw new InvariantError(`the result cannot be read: ${damaged}. Another program wrote it.`, { details: { damaged } })
}

function resultIn(entry: Entry | null, status: RunResult['status'], run: number | null): RunResult | null {
  const number = run ?? entry?.run ?? 1
  if (status === 'cancelled') return { status, run: number }
  if (status === 'failed' && entry?.type === 'failed') return { status, run: number, failure: entry.failure }
  if (status === 'completed' && entry?.type === 'completed') return { status, run: number, value: entry.value }
  return null
}
