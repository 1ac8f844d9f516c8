/**
 * Duty: list the sessions of all partitions, newest first, page by page.
 * INDEX-1 A page begins behind the last session of the page before, whatever was created or pruned in between. So no session comes twice, and no
 *     session that exists all the time is missing. If that last session was itself pruned, its place is taken from the time in its id, which may
 *     differ by as much as two clocks do.
 * INDEX-2 Sessions that go on are listed without a look at those that have ended. A page that is wanted by anything else looks at a bounded number
 *     of sessions, and says where it stopped.
 */

import { damageOf } from '../../core/errors.ts'
import { isId, isWorkerId, parseId, parseKind, partitionOf, rootIdOf, timeOf } from '../../core/ids.ts'
import { sessionNotFound } from '../../core/worker/refusal.ts'
import type { InspectStore, SessionPlace } from '../../store/audit/inspect-store.ts'
import type { ReadSession } from '../../store/record/session-record.ts'
import { ofEach } from '../fleet/each-partition.ts'
import type { SessionsQuery, WorkersQuery } from '../queries.ts'
import { type WorkerReport, workerReport } from '../report.ts'
import type { ListedSession, SessionsPage } from '../summaries.ts'
import { readRows } from '../worker-rows.ts'
import { type ListedState, listedStates } from './session-state.ts'
import { factsOf } from './session-summary.ts'

/** How many sessions one read takes: few enough that it is short, and many enough that there are few reads. */
const pageMost = 500
/** How many sessions of a partition one page looks at. */
const lookMost = 5_000

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

  /** Looks at as many sessions as it takes. */
  async list(query: SessionsQuery): Promise<ListedSession[]> {
    return [...(await this.#list(query, Number.POSITIVE_INFINITY)).sessions]
  }

  page(query: SessionsQuery): Promise<SessionsPage> {
    return this.#list(query, lookMost)
  }

  async #list({ limit = 50, before, onAway, ...wanted }: SessionsQuery, most: number): Promise<SessionsPage> {
    if (wanted.kind !== undefined) parseKind(wanted.kind)
    const from = before === undefined ? undefined : await this.#placeOf(before)
    const lists = await ofEach(this.#stores, (store) => listOf(store, limit, wanted, from, most), onAway)
    // A session that is older than the place where one partition stopped may have others of that partition before it.
    const stops = lists.flatMap(({ stoppedAt }) => stoppedAt ?? [])
    const [stop] = stops.sort(byAge)
    const all = lists.flatMap(({ found }) => found).sort(byAge)
    const sure = stop === undefined ? all : all.filter((one) => byAge(one, stop) <= 0)
    const sessions = sure.slice(0, limit)
    const next = sessions.length < sure.length ? sessions.at(-1)?.id : stop?.id
    return { sessions, next: next ?? null }
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
  async workers({ sessionId, limit = 200, onAway }: WorkersQuery): Promise<WorkerReport[]> {
    if (sessionId !== undefined) return this.#workersOf(sessionIdOf(sessionId), limit)
    // It asks for no more sessions than it needs, by the numbers of workers that they say they have.
    let expected = 0
    const sessions = (await this.list({ limit, onAway })).filter(({ workers }) => {
      const isWanted = expected < limit
      expected += workers
      return isWanted
    })
    const members = await this.#membersOf(sessions, limit)
    const reading = this.#stores.map((store) => {
      const own = members.filter(({ entry }) => isWorkerIn(store.partition, entry))
      return readRows(
        store,
        own.map(({ entry }) => entry),
      )
    })
    const rows = new Map((await Promise.all(reading)).flat().map((row) => [row.id, row]))
    return members.flatMap(({ sessionId, entry }) => {
      const row = rows.get(entry)
      // A root that has a parent is a child, whose id is written as that of a session.
      const isOfChild = entry === rootIdOf(sessionId) && row !== undefined && row.record.parentId !== null
      return row === undefined || isOfChild ? [] : [workerReport(row, sessionId)]
    })
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
    const members = await this.#membersOf(sessions, limit)
    const isWorker = ({ sessionId, entry }: (typeof members)[number]) => isWorkerIn(partitionOf(sessionId), entry)
    return {
      workers: members.filter(isWorker).map(({ entry }) => entry),
      wrong: [...wrongInIndex, ...members.filter((member) => !isWorker(member))],
    }
  }

  /** Entries of the lists of workers of these sessions, the root of each first: at most `limit`. All lists are asked for at once. */
  async #membersOf(sessions: readonly ListedSession[], limit: number): Promise<{ sessionId: string; entry: string }[]> {
    const reading = sessions.map(async ({ id: sessionId }) => {
      const ids = await this.#storeOf(sessionId)
        .workerIds(sessionId, limit)
        .catch((thrown: unknown) => {
          // If another program wrote over the list of workers of a session, its root can still be shown.
          if (damageOf(thrown) === undefined) throw thrown
          return [rootIdOf(sessionId)]
        })
      return ids.map((entry) => ({ sessionId, entry }))
    })
    return (await Promise.all(reading)).flat().slice(0, limit)
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

/**
 * Reads parts of the index until it has enough sessions, or has looked at `most`, because those that fit may lie behind very many others.
 * `stoppedAt`: the last session that it looked at, if there may be more.
 */
async function listOf(
  store: InspectStore,
  limit: number,
  { state, kind, name }: SessionsQuery,
  start: SessionPlace | undefined,
  most: number,
): Promise<{ readonly found: readonly ListedSession[]; readonly stoppedAt: SessionPlace | undefined }> {
  const found: Listed[] = []
  const isPicky = state !== undefined || kind !== undefined || name !== undefined
  const which = state === 'active' || state === 'cancelling' ? 'unended' : 'all'
  const named = name?.toLowerCase()
  const fits = (one: Listed) =>
    (!state || one.state === state) &&
    (!kind || one.kind === kind) &&
    (named === undefined || one.name.toLowerCase().includes(named))
  let from = start
  for (let looked = 0; found.length < limit && looked < most; ) {
    const wanted = isPicky ? pageMost : Math.min(pageMost, limit - found.length)
    const page = await store.sessionIds(wanted, from, which)
    for (const one of await readPage(store, page)) if (fits(one)) found.push(one)
    if (page.length < wanted) return { found: await withAsks(store, found), stoppedAt: undefined }
    looked += page.length
    from = page.at(-1)
  }
  return { found: await withAsks(store, found), stoppedAt: from }
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
  const { name, kind, mode, state, finishedAt, paused, forkedFrom, cost } = factsOf(id, row.session, createdAt)
  const { workers } = row.session
  if (row.damage.length > 0) return { ...unreadable, id, name, kind, mode, createdAt }
  return { id, name, kind, state, mode, createdAt, finishedAt, paused, forkedFrom, cost, workers }
}

type AgedSession = Pick<ListedSession, 'id' | 'createdAt'>

/** What a list shows of a session whose root cannot be read. */
const unreadable = {
  name: '',
  kind: '',
  state: 'damaged',
  mode: 'job',
  finishedAt: null,
  paused: null,
  forkedFrom: null,
  cost: null,
  workers: 1,
} as const

function byAge(a: AgedSession, b: AgedSession): number {
  return (b.createdAt ?? 0) - (a.createdAt ?? 0) || (a.id < b.id ? 1 : -1)
}
