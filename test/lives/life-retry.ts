/** Duty: let the failed run of a life go on, as a client and its store do. */
import { orderedEntries } from '../../src/core/history/run/between-runs.ts'
import { planRetry } from '../../src/core/history/run/retry-plan.ts'
import { unknownDecisions } from '../../src/core/history/run/unknown-decision.ts'
import { beforeRun } from '../../src/core/worker/run-ends.ts'
import type { LifeChances } from './life-chances.ts'
import type { LifeWorker } from './life-worker.ts'

/** What is known of calls, by their idempotency keys. */
export interface KnownCalls {
  /** How often those of effect once ran. */
  readonly ran: Map<string, number>
  readonly denied: Set<string>
}

/** Whoever denied a call that runs again is asked once more. Returns false if there is no failed run that can go on. */
export function retryLife(worker: LifeWorker, chances: LifeChances, { ran, denied }: KnownCalls): boolean {
  const run = worker.run - 1
  const all = worker.entries()
  const entries = all.filter((entry) => entry.run === run)
  const since = all.filter((entry) => (entry.run ?? run) > run)
  const end = entries.findLast(({ type }) => type === 'failed' || type === 'completed' || type === 'cancelled')
  if (worker.isOpen || end?.type !== 'failed' || !since.every(({ type }) => orderedEntries.has(type))) return false
  const facts = { run, epoch: 1, at: 1, next: all.length, entries }
  const first = planRetry(facts)
  const decision = first.kind === 'undecided' ? chances.one(unknownDecisions) : undefined
  const verdict = decision === undefined ? first : planRetry(facts, decision)
  if (verdict.kind !== 'plan') return false
  const { plan } = verdict
  worker.history.push(...plan.entries)
  worker.goOn({ ...beforeRun(run), open: true, runState: plan.runState, calls: plan.calls })
  const retried = worker.entries().findLast((entry) => entry.type === 'retried')
  for (const id of retried?.reopened ?? []) {
    const key = `${worker.id}/${run}/${id}`
    denied.delete(key)
    // Its steps, too, if it is a recipe.
    for (const one of ran.keys()) if (decision === 'again' && `${one}/`.startsWith(`${key}/`)) ran.delete(one)
  }
  return true
}
