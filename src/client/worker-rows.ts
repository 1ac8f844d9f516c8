/**
 * Duty: records as reports read them. Rows of any number of workers come in pieces: each has a deadline of its own, and none holds Redis or
 * this process for long. A field that somebody wrote over is named, and told as if it were not there: nobody reads a number that is none.
 */

import { misreadFields } from '../audit/form-rules.ts'
import { InvariantError } from '../core/errors.ts'
import type { InspectStore, WorkerRow } from '../store/inspect-store.ts'
import type { RecordFields } from '../store/script/replies.ts'

const pieceSize = 500

/** Of those that exist, in the order of `ids`. */
export async function readRows(store: InspectStore, ids: readonly string[]): Promise<WorkerRow[]> {
  const rows: WorkerRow[] = []
  for (let from = 0; from < ids.length; from += pieceSize)
    rows.push(...(await store.workers(ids.slice(from, from + pieceSize))).map((row) => readable(row, store)))
  return rows
}

function readable(row: WorkerRow, store: InspectStore): WorkerRow {
  const wrong = misreadFields(row.fields)
  if (wrong.length === 0) return row
  const fields = Object.fromEntries(Object.entries(row.fields).filter(([name]) => !wrong.includes(name)))
  // Of a record that is none there are no fields: its key is named.
  const damage = row.damage ?? fieldDamage(store.recordKey(row.id), row.fields)
  return { ...row, fields: { kind: '', place: 'idle', ...fields }, damage }
}

/** What is wrong with fields of the record under this key; null where nothing is. */
export function fieldDamage(key: string, fields: RecordFields): InvariantError | null {
  const wrong = misreadFields(fields)
  return wrong.length === 0 ? null : overwritten(wrong.map((name) => unfit(name, key, fields[name])).join('; '))
}

const resultForm = /^(completed|failed|cancelled) \d+$/

/** The same of a run's line in the hash of results, absent or not. */
export function resultDamage(key: string, run: number, line: string | undefined): InvariantError | null {
  return line === undefined || resultForm.test(line) ? null : overwritten(unfit(String(run), key, line))
}

function unfit(name: string, key: string, text: string | undefined): string {
  const what = text === undefined ? 'be there' : `not be ${JSON.stringify(text.slice(0, 40))}`
  return `field ${name} of ${key} should ${what}`
}

function overwritten(damaged: string): InvariantError {
  const why = 'Another program wrote over it: put it back.'
  return new InvariantError(`what is stored is not as it should be (${damaged}). ${why}`, { details: { damaged } })
}
