/** Duty: the result of a run, as the entry of the history holds it. */
import { InvariantError } from '../../../core/errors.ts'
import type { Entry, RunResult } from '../../../core/history/entry.ts'

/** The result that a history entry holds. `where` names the entry in errors. */
export function resultOf(
  entry: Entry | null,
  status: RunResult['status'],
  run: number | null,
  where: string,
): RunResult {
  const number = run ?? entry?.run ?? 1
  if (status === 'cancelled') return { status, run: number }
  if (entry === null) throw unreadableResult(`${where} should be there`)
  if (status === 'failed' && entry.type === 'failed') return { status, run: number, failure: entry.failure }
  if (status === 'completed' && entry.type === 'completed') return { status, run: number, value: entry.value }
  throw unreadableResult(`${where} should be that it ${status}`)
}

function unreadableResult(damaged: string): InvariantError {
  return new InvariantError(`the result cannot be read: ${damaged}. Another program wrote it.`, {
    details: { damaged },
  })
}
