/**
 * Duty: list the sessions of all partitions, newest first, page by page.
 * INDEX-1 A page begins behind the last session of the page before, whatever was created or pruned in between. So no session comes twice, and no
 *     session that exists all the time is missing. If that last session was itself pruned, its place is taken from the time in its id, which may
 *     differ by as much as two clocks do.
 */

import { damageOf } from '../../core/errors.ts'
import { isId, isWorkerId, parseId, parseKind, partitionOf, rootIdOf, timeOf } from '../../core/ids.ts'
import { sessionNotFound } from '../../core/worker/refusal.ts'
import type { InspectStore, SessionPlace } from '../../store/audit/inspect-store.ts'
import type { ReadSession } from '../../store/record/session-record.ts'
import type { SessionsQuery, WorkersQuery } from '../queries.ts'
import { type WorkerReport, workerReport } from '../report.ts'
import type { ListedSession } from '../summaries.ts'
import { readRows } from '../worker-rows.ts'
import { factsOf, type ListedState, listedStates } from './session-summary.ts'

/** How many sessions one read takes: few enough that it is short, and many enough that there are few reads. */
const pageMost = 500

/** An entry in the list of a session that cannot be one of its workers; or, without a session, one in the index that cannot be a session. */
export interface WrongEntry {
  readonly sessionId: string | null
  readonly entry: string
}

export interface NewestMembers {
  /** Ids of the workers of the newest sessions, with the root of each first. */
  readonly workers: readonly string[]
  readonly wrong: readonly WrongEntry[]
}

export class SessionIndex {
  readonly #stores: readonly InspectStore[]
  readonly #storeOf: (id: string) => InspectStore

  /** `storeOf` throws if the namespace lacks the partition of the id. */
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

  /** How many sessions are in each state. Reads all of them, a page at a time, and keeps none. */
  async counts(): Promise<Record<ListedState, number>> {
    const counts = Object.fromEntries(listedStates.map((state) => [state, 0])) as Record<ListedState, number>
    const count = async (store: InspectStore) => {
      for (let from: SessionPlace | undefined; ; ) {
        const page = await store.sessionIds(pageMost, from)
        for (const one of await readPage(store, page)) counts[one.state]++
        if (page.length < pageMost) return
        from = page.at(-1)
      }
    }
    await Promise.all(this.#stores.map(count))
    return counts
  }

  /** The workers of one session, or of the newest sessions. The root of each comes first. */
  async workers({ sessionId, limit = 200 }: WorkersQuery): Promise<WorkerReport[]> {
    if (sessionId !== undefined) return this.#workersOf(sessionIdOf(sessionId), limit)
    const found: WorkerReport[] = []
    for (const { id } of await this.list({ limit })) {
      if (found.length >= limit) break
      // If another program wrote over the list of workers of a session, its root can still be shown.
      const workers = await this.#workersOf(id, limit - found.length).catch((thrown: unknown) => {
        if (damageOf(thrown) === undefined) throw thrown
        return this.#workersOf(id, 1)
      })
      for (const worker of workers) found.push(worker)
    }
    return found
  }

  /** Reports of the workers of the newest sessions, read together: not one session after the other. */
  async newestWorkers(limit: number): Promise<WorkerReport[]> {
    const { workers } = await this.newestMembers(limit)
    const reading = this.#stores.map((store) =>
      readRows(
        store,
        workers.filter((id) => partitionOf(id) === store.partition),
      ),
    )
    return (await Promise.all(reading)).flat().map((row) => workerReport(row))
  }

  /** All lists are asked for at once, because each answer of a distant Redis takes long. */
  async newestMembers(limit: number): Promise<NewestMembers> {
    const [sessions, wrongInIndex] = await Promise.all([this.list({ limit }), this.#wrongInIndex(limit)])
    const reading = sessions.map(async ({ id: sessionId }) => {
      const ids = await this.#storeOf(sessionId)
        .workerIds(sessionId, limit)
        .catch((thrown: unknown) => {
          if (damageOf(thrown) === undefined) throw thrown
          return [rootIdOf(sessionId)]
        })
      return ids.map((entry) => ({ sessionId, entry }))
    })
    const members = (await Promise.all(reading)).flat().slice(0, limit)
    const isWorker = ({ sessionId, entry }: (typeof members)[number]) => isWorkerIn(partitionOf(sessionId), entry)
    return {
      workers: members.filter(isWorker).map(({ entry }) => entry),
      wrong: [...wrongInIndex, ...members.filter((member) => !isWorker(member))],
    }
  }

  async #wrongInIndex(limit: number): Promise<WrongEntry[]> {
    const reading = this.#stores.map(async (store) =>
      (await store.sessionIds(limit)).filter(({ id }) => !isSessionIn(store.partition, id)),
    )
    return (await Promise.all(reading)).flat().map(({ id }) => ({ sessionId: null, entry: id }))
  }

  /** Empty if the session was pruned since it was listed, or if its id is that of a child, written as the id of a session. */
  async #workersOf(sessionId: string, limit: number): Promise<WorkerReport[]> {
    const store = this.#storeOf(sessionId)
    const rows = await readRows(store, await store.workerIds(sessionId, limit))
    const isOfChild = rows.some(({ id, record }) => id === rootIdOf(sessionId) && record.parentId !== null)
    return isOfChild ? [] : rows.map((row) => workerReport(row, sessionId))
  }

  /** The place of a session in the list. A session that was pruned has the time that is in its id. */
  async #placeOf(text: string): Promise<SessionPlace> {
    const id = sessionIdOf(text)
    return { id, createdAt: (await this.#storeOf(id).createdAt(id)) ?? timeOf(id) }
  }
}

function isSessionIn(partition: number, id: string): boolean {
  return isId(id) && !isWorkerId(id) && partitionOf(id) === partition
}

function isWorkerIn(partition: number, id: string): boolean {
  return isId(id) && isWorkerId(id) && partitionOf(id) === partition
}

/** Refuses the id of a worker: it would be taken for the id of another session. */
function sessionIdOf(text: string): string {
  const id = parseId(text, 'session')
  if (isWorkerId(id)) throw sessionNotFound(id)
  return id
}

/** Reads pages until it has enough sessions, because those that fit may lie behind very many others. */
async function listOf(
  store: InspectStore,
  limit: number,
  { state, kind }: SessionsQuery,
  start: SessionPlace | undefined,
): Promise<ListedSession[]> {
  const found: Listed[] = []
  const isPicky = state !== undefined || kind !== undefined
  for (let from = start; found.length < limit; ) {
    const most = isPicky ? pageMost : Math.min(pageMost, limit - found.length)
    const page = await store.sessionIds(most, from)
    for (const one of await readPage(store, page))
      if ((!state || one.state === state) && (!kind || one.kind === kind)) found.push(one)
    if (page.length < most) break
    from = page.at(-1)
  }
  return withAsks(store, found)
}

async function readPage(store: InspectStore, page: readonly SessionPlace[]): Promise<Listed[]> {
  const rows = page.length === 0 ? [] : await store.sessions(page.map(({ id }) => id))
  return page.flatMap((place, index) => {
    // An entry that is no session of this partition was written by another program. The audit names it.
    const one = isSessionIn(store.partition, place.id) ? summaryOf(place, rows[index] ?? null) : null
    return one === null ? [] : [one]
  })
}

async function withAsks(store: InspectStore, sessions: readonly Listed[]): Promise<ListedSession[]> {
  const counts = sessions.length === 0 ? [] : await store.openAsks(sessions.map(({ id }) => id))
  return sessions.map((session, index) => {
    const { asks = 0, since = null } = counts[index] ?? {}
    return { ...session, openAsks: asks, askedAt: since }
  })
}

type Listed = Omit<ListedSession, 'openAsks' | 'askedAt'>

function summaryOf({ id, createdAt }: SessionPlace, row: ReadSession | 'unreadable' | null): Listed | null {
  if (row === null) return null
  if (row === 'unreadable') return { ...unreadable, id, createdAt }
  const { name, kind, mode, state, finishedAt, paused, forkedFrom } = factsOf(id, row.session, createdAt)
  const { workers } = row.session
  if (row.damage.length > 0) return { ...unreadable, id, name, kind, mode, createdAt }
  return { id, name, kind, state, mode, createdAt, finishedAt, paused, forkedFrom, workers }
}

/** What a list shows of a session whose root cannot be read. */
const unreadable = {
  name: '',
  kind: '',
  state: 'damaged',
  mode: 'job',
  finishedAt: null,
  paused: null,
  forkedFrom: null,
  workers: 1,
} as const

function byAge(a: ListedSession, b: ListedSession): number {
  return (b.createdAt ?? 0) - (a.createdAt ?? 0) || (a.id < b.id ? 1 : -1)
}
