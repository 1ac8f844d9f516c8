/**
 * A fork that reads a session in parts (store/lua/fork/cut.lua): what it read of a worker is taken only if what it sees of that worker is the same at the
 * end. So whatever a copy takes of a worker must change with what a fork sees of it.
 */
import { hash } from 'node:crypto'
import type { Store, WorkerRecord } from './records.ts'
import type { Rules } from './rules/shared-rules.ts'

/** What a fork saw of a worker at one moment, and what it took then. */
export interface Sight {
  readonly worker: string
  readonly isBlind: boolean
  readonly seen: string
  readonly taken: string
}

const digestOf = (value: unknown) => hash('sha1', JSON.stringify(value), 'base64').slice(0, 12)

/** `isBlind`: it sees the record alone. */
function look(worker: WorkerRecord, isBlind: boolean): Pick<Sight, 'seen' | 'taken'> {
  // No copy takes the names of wake-ups, and the search renames them.
  const { inbox, results, signals, log, asks, wakeups: _, ...record } = worker
  const lists = [inbox, results, signals, log]
  const lengths = isBlind ? [] : lists.map(({ length }) => length)
  return { seen: digestOf([record, lengths]), taken: digestOf([record, lists, asks]) }
}

export function sightOf({ workers }: Store, worker: string, { without }: Rules): Sight {
  const isBlind = without === 'lengths of lanes in what a fork sees'
  return { worker, isBlind, ...look(workers[worker] as WorkerRecord, isBlind) }
}

export function sightRules({ workers }: Store, sight: Sight | null): string[] {
  const worker = workers[sight?.worker ?? '']
  if (sight === null || worker === undefined) return []
  const now = look(worker, sight.isBlind)
  return now.seen === sight.seen && now.taken !== sight.taken
    ? [`cut ${sight.worker} looks as before, and a copy would take something else`]
    : []
}
