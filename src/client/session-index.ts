/**
 * Duty: the sessions of all partitions, newest first, page by page.
 * INDEX-1 A page goes on behind the last session of the page before, whatever was created or pruned in between. No session is listed
 *    twice, and no session that exists all the time is left out. Exception: if that last session was itself pruned, the page may be off by
 *    the difference of two clocks.
 */

import { damageOf } from '../core/errors.ts'
import { isWorkerId, parseId, parseKind, rootIdOf, timeOf } from '../core/ids.ts'
import { sessionNotFound } from '../core/worker/refusal.ts'
import type { InspectStore, SessionPlace } from '../store/inspect-store.ts'
import type { ReadSession } from '../store/record/session-record.ts'
import type { SessionsQuery, WorkersQuery } from './queries.ts'
import { type WorkerReport, workerReport } from './report.ts'
import { factsOf } from './session-summary.ts'
import type { ListedSession } from './summaries.ts'
import { readRows } from './worker-rows.ts'

/** Sessions that are read at once: so few that each read is short, so many that there are few of them. */
const pageMost = 500

export class SessionIndex {
  readonly #stores: readonly InspectStore[]
  readonly #storeOf: (id: string) => InspectStore

  /** `storeOf` throws for an id whose partition is not there. */
  constructor(stores: readonly InspectStore[], storeOf: (id: string) => InspectStore) {
    this.#stores = stores
    this.#storeOf = storeOf
  }

  async list({ limit = 50, before, ...wanted }: SessionsQuery): Promise<ListedSession[]> {
    if (wanted.kind !== undefined) parseKind(wanted.kind)
    const from = before === undefined ? undefined : await this.#placeOf(before)
    const lists = await Promise.all(this.#stores.map((store) => listOf(store, limit, wanted, from)))
    return lists.flat().sort(byAge).slice(0, limit)
  }

  /** Of one session, or of the newest ones, each with its root first. */
  async workers({ sessionId, limit = 200 }: WorkersQuery): Promise<WorkerReport[]> {
    if (sessionId !== undefined) return this.#workersOf(sessionIdOf(sessionId), limit)
    const found: WorkerReport[] = []
    for (const { id } of await this.list({ limit })) {
      if (found.length >= limit) break
      // Where somebody wrote over a session's list of workers, its root can be told without.
      const workers = await this.#workersOf(id, limit - found.length).catch((thrown: unknown) => {
        if (damageOf(thrown) === undefined) throw thrown
        return this.#workersOf(id, 1)
      })
      for (const worker of workers) found.push(worker)
    }
    return found
  }

  /** Ids of workers of the newest sessions, each with its root first, asked for all at once: where Redis is far away, each answer takes long. */
  async newestIds(limit: number): Promise<string[]> {
    const sessions = await this.list({ limit })
    const reading = sessions.map(({ id }) =>
      this.#storeOf(id)
        .workerIds(id, limit)
        .catch((thrown: unknown) => {
          if (damageOf(thrown) === undefined) throw thrown
          return [rootIdOf(id)]
        }),
    )
    return (await Promise.all(reading)).flat().slice(0, limit)
  }

  /** None of a session that was pruned since it was listed, nor where the id is that of a child, written as that of a session. */
  async #workersOf(sessionId: string, limit: number): Promise<WorkerReport[]> {
    const store = this.#storeOf(sessionId)
    const rows = await readRows(store, await store.workerIds(sessionId, limit))
    const isOfChild = rows.some(({ id, record }) => id === rootIdOf(sessionId) && record.parentId !== null)
    return isOfChild ? [] : rows.map((row) => workerReport(row, sessionId))
  }

  /** Of a session that was pruned, by the time that is in its id. */
  async #placeOf(text: string): Promise<SessionPlace> {
    const id = sessionIdOf(text)
    return { id, createdAt: (await this.#storeOf(id).createdAt(id)) ?? timeOf(id) }
  }
}

/** An id of a worker would be looked up as that of a session that has no other. */
function sessionIdOf(text: string): string {
  const id = parseId(text, 'session')
  if (isWorkerId(id)) throw sessionNotFound(id)
  return id
}

/** Read until there are enough: what is asked for may lie behind very many others. */
async function listOf(
  store: InspectStore,
  limit: number,
  { state, kind }: SessionsQuery,
  start: SessionPlace | undefined,
): Promise<ListedSession[]> {
  const found: ListedSession[] = []
  const isPicky = state !== undefined || kind !== undefined
  for (let from = start; found.length < limit; ) {
    const most = isPicky ? pageMost : Math.min(pageMost, limit - found.length)
    const page = await store.sessionIds(most, from)
    const rows = page.length === 0 ? [] : await store.sessions(page.map(({ id }) => id))
    for (const [index, place] of page.entries()) {
      const one = summaryOf(place, rows[index] ?? null)
      if (one !== null && (!state || one.state === state) && (!kind || one.kind === kind)) found.push(one)
    }
    if (page.length < most) break
    from = page.at(-1)
  }
  return found
}

function summaryOf({ id, createdAt }: SessionPlace, row: ReadSession | 'unreadable' | null): ListedSession | null {
  if (row === null) return null
  if (row === 'unreadable') return { ...unreadable, id, createdAt }
  const { name, kind, mode, state, finishedAt } = factsOf(id, row.session, createdAt)
  const { workers } = row.session
  if (row.damage.length > 0) return { ...unreadable, id, name, kind, mode, createdAt }
  return { id, name, kind, state, mode, createdAt, finishedAt, workers }
}

/** Of a session whose root cannot be read. */
const unreadable = { name: '', kind: '', state: 'damaged', mode: 'job', finishedAt: null, workers: 1 } as const

function byAge(a: ListedSession, b: ListedSession): number {
  return (b.createdAt ?? 0) - (a.createdAt ?? 0) || (a.id < b.id ? 1 : -1)
}
