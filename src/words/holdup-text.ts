/** Duty: a holdup (client/holdup.ts) as lines for people. */
import type { Holdup } from '../client/holdup.ts'
import type { WorkerReport } from '../client/report.ts'
import { formatDuration } from './duration.ts'
import { nameAndKind } from './worker-name.ts'

type Named = Pick<WorkerReport, 'id' | 'name' | 'kind'>

/** How many holdups a view names one by one. */
const namedMost = 3

/** `a timer, for 12s, due in 3m` */
export function waitingText({ waitsFor, since, until }: Omit<Holdup, 'reason'>, now: number): string {
  const due = until !== null && until > now ? `, due in ${formatDuration(until - now)}` : ''
  return `${waitsFor}, for ${formatDuration(Math.max(0, now - since))}${due}`
}

/** The first holdups, as in `docs (reader) waits for a person to answer "Ship it?", for 3m`. */
export function holdupTexts(holdups: readonly Holdup[], workers: readonly Named[], now: number): string[] {
  const nameOf = (id: string) => {
    const worker = workers.find((one) => one.id === id)
    return worker === undefined ? id : nameAndKind(worker.name, worker.kind)
  }
  const named = holdups
    .slice(0, namedMost)
    .map((holdup) => `${nameOf(holdup.workerId)} waits for ${waitingText(holdup, now)}`)
  const left = holdups.length - named.length
  return left === 0 ? named : [...named, `and ${left} more`]
}

/** The commands that help, each once. */
export function helpfulCommands(holdups: readonly Holdup[]): string[] {
  return [...new Set(holdups.slice(0, namedMost).flatMap(({ command }) => command ?? []))]
}
