/**
 * Duty: the sessions of all partitions, newest first, page by page.
 * SI1 A page goes on behind the last session of the one before, whatever was created or pruned in between: no session is told twice,
 *     and none that is there all the time is left out. Only where that last one was itself pruned may it be off by the difference of
 *     two clocks.
 */
import { isWorkerId, parseId, rootIdOf, timeOf } from '../core/ids.ts'
import { sessionNotFound } from '../core/refusal.ts'
import type { InspectStore, SessionPlace } from '../store/inspect-store.ts'
import type { SessionsQuery, WorkersQuery } from './queries.ts'
import { sessionReport, type WorkerReport, workerReport } from './report.ts'
import type { SessionSummary } from './summaries.ts'
import { readRows } from './worker-rows.ts'

export class SessionIndex {
  readonly #stores: readonly InspectStore[]
  readonly #storeOf: (id: string) => InspectStore

  /** `storeOf` throws for an id whose partition is not there. */
  constructor(stores: readonly InspectStore[], storeOf: (id: string) => InspectStore) {
    this.#stores = stores
    this.#storeOf = storeOf
  }

  async list({ limit = 50, before, ...wanted }: SessionsQuery): Promise<SessionSummary[]> {
    const from = before === undefined ? undefined : await this.#placeOf(before)
    const lists = await Promise.all(this.#stores.map((store) => listOf(store, limit, wanted, from)))
    return lists.flat().sort(byAge).slice(0, limit)
  }

  /** Of one session, or of the newest ones, each with its root first. */
  async workers({ sessionId, limit = 200 }: WorkersQuery): Promise<WorkerReport[]> {
    if (sessionId !== undefined) return this.#workersOf(parseId(sessionId, 'session'), limit)
    const found: WorkerReport[] = []
    for (const { id } of await this.list({ limit })) {
      if (found.length >= limit) break
      for (const worker of await this.#workersOf(id, limit - found.length)) found.push(worker)
    }
    return found
  }

  /** None of a session that was pruned since it was listed. */
  async #workersOf(sessionId: string, limit: number): Promise<WorkerReport[]> {
    const store = this.#storeOf(sessionId)
    return (await readRows(store, await store.workerIds(sessionId, limit))).map(workerReport)
  }

  /** Of a session that was pruned, by the time that is in its id. */
  async #placeOf(text: string): Promise<SessionPlace> {
    const id = parseId(text, 'session')
    if (isWorkerId(id)) throw sessionNotFound(id)
    return { id, createdAt: (await this.#storeOf(id).createdAt(id)) ?? timeOf(id) }
  }
}

/** Read until there are enough: what is asked for may lie behind many others. */
async function listOf(
  store: InspectStore,
  limit: number,
  { state, kind }: SessionsQuery,
  from: SessionPlace | undefined,
): Promise<SessionSummary[]> {
  const found: SessionSummary[] = []
  let page = await store.sessionIds(limit, from)
  while (page.length > 0) {
    for (const one of await Promise.all(page.map((place) => summaryOf(store, place)))) {
      if (one !== null && (!state || one.state === state) && (!kind || one.kind === kind)) found.push(one)
    }
    if (page.length < limit || found.length >= limit) break
    page = await store.sessionIds(limit, page.at(-1))
  }
  return found
}

async function summaryOf(store: InspectStore, { id, createdAt }: SessionPlace): Promise<SessionSummary | null> {
  const fields = await store.session(id)
  if (fields === null) return null
  const [row] = await store.workers([rootIdOf(id)])
  const workers = row ? [workerReport(row)] : []
  const report = sessionReport(id, fields, createdAt, workers, row?.fields.mode ?? 'job')
  const { name, kind, state, mode, finishedAt, usage } = report
  return { id, name, kind, state, mode, createdAt, finishedAt, workers: usage.workers }
}

function byAge(a: SessionSummary, b: SessionSummary): number {
  return (b.createdAt ?? 0) - (a.createdAt ?? 0) || (a.id < b.id ? 1 : -1)
}
