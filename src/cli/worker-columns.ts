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
    ...stateColumns<WorkerReport>((worker) => worker),
  ]
}

/** What a worker does, what its run does, and how it failed last. */
export function stateColumns<Row>(of: (row: Row) => WorkerReport): Column<Row>[] {
  return [
    {
      header: 'state',
      value: (row) => of(row).state,
      shrinksTo: 9,
      paint: (cell, row) => paintState(cell, of(row).state),
    },
    { header: 'run', value: (row) => of(row).run, shrinksTo: 8 },
    { header: 'last failure', value: (row) => failureLine(of(row)), shrinksTo: 9 },
  ]
}

function failureLine({ lastFailure }: WorkerReport): string {
  return lastFailure === null ? '' : failureCause(lastFailure)
}
