/**
 * Duty: read the records of workers for reports, and name what another program wrote over.
 * ROWS-1 Many workers are read in pieces. Each piece has a deadline of its own, and none keeps Redis or this process busy for long.
 */

import { InvariantError, type RuntimeError } from '../core/errors.ts'
import { rootIdOf } from '../core/ids.ts'
import type { InspectStore, SessionRow } from '../store/audit/inspect-store.ts'
import { damageText, type FieldDamage } from '../store/record/field.ts'
import { decodeResultLine } from '../store/record/session-record.ts'
import type { WorkerRow } from '../store/worker/worker-rows.ts'

const pieceSize = 500

/** A row, and an error that names what another program wrote over; null if nothing is damaged. */
export interface ReadableRow extends WorkerRow {
  readonly damage: RuntimeError | null
}

/** How many children of its run have not reported yet. The result of one that has may wait in the mailbox, as for the others of `await: 'all'`. */
export function openChildrenOf({ record, pending }: Pick<ReadableRow, 'record' | 'pending'>): number {
  return Math.max(0, record.pendingCalls.length - pending.results)
}

/** The rows of the workers that exist, in the order of `ids`. */
export async function readRows(store: InspectStore, ids: readonly string[]): Promise<ReadableRow[]> {
  const rows: ReadableRow[] = []
  for (let from = 0; from < ids.length; from += pieceSize)
    for (const row of await store.workers(ids.slice(from, from + pieceSize)))
      rows.push({ ...row, damage: row.keyDamage ?? fieldDamage(store.recordKey(row.id), row.fieldDamage) })
  return rows
}

/** An error that names what another program wrote over in a session, or in the stored result of this run; null if nothing is damaged. */
export function sessionDamage(
  store: InspectStore,
  sessionId: string,
  { damage, resultLine }: SessionRow,
  resultsKey: string,
  run = 0,
): InvariantError | null {
  const found = fieldDamage(store.recordKey(rootIdOf(sessionId)), damage)
  if (found !== null || resultLine === null || decodeResultLine(run, resultLine) !== null) return found
  return overwritten(damageText({ field: String(run), text: resultLine }, resultsKey))
}

function fieldDamage(key: string, damage: readonly FieldDamage[]): InvariantError | null {
  return damage.length === 0 ? null : overwritten(damage.map((one) => damageText(one, key)).join('; '))
}

function overwritten(damaged: string): InvariantError {
  const why = 'Another program wrote over it: put it back.'
  return new InvariantError(`what is stored is not as it should be (${damaged}). ${why}`, { details: { damaged } })
}
