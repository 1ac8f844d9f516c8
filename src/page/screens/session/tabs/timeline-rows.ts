/** Duty: the rows of the timeline: the bars of each worker, and what only its report knows of the last of them. */
import type { HoldupReason } from '../../../../client/holdup.ts'
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
    if (below.has(worker.id))
      rows.push({ worker, bars: (byWorker.get(worker.id) ?? []).map((bar) => asReported(bar, worker)) })
  }
  return rows.some((row) => row.bars.length > 0) ? rows : []
}

const kindOfWait: Partial<Record<HoldupReason, TimelineBar['kind']>> = {
  slot: 'queue',
  timer: 'timer',
  children: 'children',
  retry: 'retry',
}

/** Only the report knows what an open bar is: a first turn has written nothing yet, and a wait is known from events once it ends. */
function asReported(bar: TimelineBar, { lifecycle, activity, holdup }: WorkerReport): TimelineBar {
  if (bar.to !== null) return bar
  if (bar.kind === 'queue' && lifecycle === 'busy' && activity !== 'queued') return { ...bar, kind: 'working' }
  const wait = holdup === null ? undefined : kindOfWait[holdup.reason]
  return bar.kind === 'working' && wait !== undefined ? { ...bar, kind: wait } : bar
}
