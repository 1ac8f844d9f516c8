/** Duty: the rows of the timeline: the bars of each worker. */
import type { WorkerReport } from '../../../../client/report.ts'
import type { TimelineBar } from '../../../../client/session/timeline.ts'

export interface BarRow {
  readonly worker: WorkerReport
  readonly bars: readonly TimelineBar[]
}

/** The chosen worker, and all below it. */
export function rowsOf(bars: readonly TimelineBar[], workers: readonly WorkerReport[], chosen: string): BarRow[] {
  const byWorker = Map.groupBy(bars, ({ workerId }) => workerId)
  const below = new Set([chosen])
  const rows: BarRow[] = []
  for (const worker of workers) {
    if (worker.parentId !== null && below.has(worker.parentId)) below.add(worker.id)
    if (below.has(worker.id)) rows.push({ worker, bars: byWorker.get(worker.id) ?? [] })
  }
  return rows.some((row) => row.bars.length > 0) ? rows : []
}
