/** Duty: how workers are named and listed, the same wherever they are shown. */
import type { WorkerReport } from '../client/report.ts'
import { failureCause } from './failure-text.ts'
import { paintState } from './state-colour.ts'
import type { Column } from './table.ts'

/** `reader` for a reader named so, else `docs (reader)`. */
export function nameAndKind(name: string, kind: string): string {
  return name === kind || name === '' ? kind : `${name} (${kind})`
}

export function workerColumns(): Column<WorkerReport>[] {
  return [
    { header: 'id', value: ({ id }) => id },
    { header: 'worker', value: ({ name, kind }) => nameAndKind(name, kind), shrinksTo: 10 },
    stateColumn<WorkerReport>((worker) => worker),
    { header: 'run', value: ({ run }) => run, shrinksTo: 8 },
    failureColumn<WorkerReport>((worker) => worker),
  ]
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

/** How its last run failed. */
export function failureColumn<Row>(of: (row: Row) => WorkerReport): Column<Row> {
  return { header: 'failure', value: (row) => failureLine(of(row)), shrinksTo: 9 }
}

function failureLine({ lastFailure }: WorkerReport): string {
  return lastFailure === null ? '' : failureCause(lastFailure)
}
