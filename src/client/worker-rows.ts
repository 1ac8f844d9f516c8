/**
 * Duty: records as reports read them. Rows of any number of workers come in pieces: each has a deadline of its own, and none holds Redis or
 * this process for long. What another program wrote over is named.
 */

import { InvariantError, type RuntimeError } from '../core/errors.ts'
import { rootIdOf } from '../core/ids.ts'
import type { InspectStore, SessionRow, WorkerRow } from '../store/inspect-store.ts'
import { damageText, type FieldDamage } from '../store/record/field.ts'
import { decodeResultLine } from '../store/record/session-record.ts'

const pieceSize = 500

/** A row, and what is damaged of it; null where nothing is. */
export interface ReadableRow extends WorkerRow {
  readonly damage: RuntimeError | null
}

/** Of those that exist, in the order of `ids`. */
export async function readRows(store: InspectStore, ids: readonly string[]): Promise<ReadableRow[]> {
  const rows: ReadableRow[] = []
  for (let from = 0; from < ids.length; from += pieceSize)
    for (const row of await store.workers(ids.slice(from, from + pieceSize)))
      rows.push({ ...row, damage: row.keyDamage ?? fieldDamage(store.recordKey(row.id), row.fieldDamage) })
  return rows
}

/** What is wrong with what was read of a session, under the key of its results for this run; null where nothing is. */
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
