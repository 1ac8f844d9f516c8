/** Duty: how workers are named and listed, the same wherever they are shown. */
import type { WorkerReport } from '../../client/report.ts'
import type { UsageReport } from '../../core/worker/usage.ts'
import type { Column } from '../terminal/table.ts'
import { count } from './count.ts'
import { failureCause } from './failure-text.ts'
import { paintState } from './state-colour.ts'
import { tokensText } from './tokens.ts'

/** `reader` for a reader named so, else `docs (reader)`. */
export function nameAndKind(name: string, kind: string): string {
  return name === kind || name === '' ? kind : `${name} (${kind})`
}

export function workerColumns(workers: readonly WorkerReport[]): Column<WorkerReport>[] {
  return [
    { header: 'id', value: ({ id }) => id },
    { header: 'worker', value: ({ name, kind }) => nameAndKind(name, kind), shrinksTo: 10 },
    stateColumn<WorkerReport>((worker) => worker),
    { header: 'run', value: ({ run }) => run, shrinksTo: 8 },
    ...usageColumns<WorkerReport>(workers, (worker) => worker),
    failureColumn<WorkerReport>((worker) => worker),
  ]
}

/** What agents used; no columns where there is none. */
export function usageColumns<Row>(rows: readonly Row[], of: (row: Row) => WorkerReport): Column<Row>[] {
  if (!rows.some((row) => of(row).usage.modelCalls !== undefined)) return []
  const tokens = (count: number | undefined) => (count === undefined ? '' : tokensText(count))
  return [
    {
      header: 'iterations',
      value: (row) => (of(row).usage.modelCalls === undefined ? '' : of(row).iterations),
      align: 'right',
    },
    { header: 'tokens in', value: (row) => tokens(of(row).usage.inputTokens), align: 'right' },
    { header: 'out', value: (row) => tokens(of(row).usage.outputTokens), align: 'right' },
  ]
}

/** `12 calls; 12.3k tokens in, 1.2k of them from the cache; 678 out`; null where no model was called. */
export function usageText(usage: Partial<UsageReport>): string | null {
  const { modelCalls = 0, inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, reasoningTokens = 0 } = usage
  if (modelCalls === 0) return null
  const part = (count: number, where: string) => (count === 0 ? '' : ` (${tokensText(count)} ${where})`)
  const read = `${tokensText(inputTokens)} tokens in${part(cacheReadTokens, 'from the cache')}`
  const said = `${tokensText(outputTokens)} out${part(reasoningTokens, 'reasoning')}`
  return `${count(modelCalls, 'model call')}; ${read}, ${said}`
}

/** What a worker does. */
export function stateColumn<Row>(of: (row: Row) => WorkerReport): Column<Row> {
  return {
    header: 'state',
    value: (row) => of(row).state,
    shrinksTo: 9,
    paint: (cell, row) => paintState(cell, of(row).state),
  }
}

/** What children wait for; no column where none does. */
export function waitsColumn(workers: readonly WorkerReport[]): Column<WorkerReport>[] {
  if (!workers.some(({ parentId, waitsFor }) => parentId !== null && waitsFor !== null)) return []
  return [{ header: 'waits for', value: ({ waitsFor }) => waitsFor ?? '', shrinksTo: 9 }]
}

/** How its last run failed. */
export function failureColumn<Row>(of: (row: Row) => WorkerReport): Column<Row> {
  return { header: 'failure', value: (row) => failureLine(of(row)), shrinksTo: 9 }
}

function failureLine({ lastFailure }: WorkerReport): string {
  return lastFailure === null ? '' : failureCause(lastFailure)
}
