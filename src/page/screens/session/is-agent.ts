/** Duty: say whether a worker is an agent, whose conversation can be compacted, taken back and branched off. */
import type { WorkerReport } from '../../../client/report.ts'
import type { HistoryItem } from '../../../client/worker.ts'

/**
 * `items`: entries of its history, as far as they are known. A conversation that began with messages of another one has called no model yet; a handler
 * has no history before its first run.
 */
export function isAgent({ usage, runs, historyLength }: WorkerReport, items: readonly HistoryItem[] = []): boolean {
  if (usage.modelCalls !== undefined || (runs === 0 && historyLength > 0)) return true
  return items.some(({ entry: { type } }) => type === 'user' || type === 'assistant')
}
