/** Duty: the calls of `troupe.sessions`. Does not own: how a session is created (submission.ts), what a session can do (session.ts). */

import { checkOptions } from '../../core/check/check-options.ts'
import {
  type Definition,
  type FreeName,
  type GivenOf,
  isDefinition,
  type KindName,
  type ReturnedBy,
} from '../../core/definition/kind-types.ts'
import { InputError } from '../../core/errors.ts'
import type { ChatMessage } from '../../core/history/chat/chat-message.ts'
import { parseId } from '../../core/ids.ts'
import type { DeepReadonly } from '../../core/read-only.ts'
import { EarlyNotes } from '../event/early-notes.ts'
import type { EventHub } from '../event/event-hub.ts'
import { type PruneQuery, pruneRules, type SessionsQuery, sessionsRules } from '../queries.ts'
import { holdsBytes, withBytes } from '../submission/attached.ts'
import type { SessionStart } from '../submission/session-start.ts'
import type { CreateSession, Submission } from '../submission/submission.ts'
import { notifyWarning } from '../submission/warnings.ts'
import type { ListedSession, NodeSummary, SessionsPage } from '../summaries.ts'
import type { Worker } from '../worker.ts'
import { blobsNamedIn, copyBlobs } from './conversation/branch-blobs.ts'
import { type ForkQuery, forkRequest, forkRules } from './conversation/branches.ts'
import { Session, type SessionContext } from './session.ts'
import type { SessionIndex } from './session-index.ts'
import type { ListedState } from './session-state.ts'

/** What `sessions.create` takes beside a definition. A conversation that begins with a history may wait for its first message. */
export type CreateOf<Given> = Omit<CreateSession, 'kind' | 'input'> &
  (
    | { readonly input: DeepReadonly<Given> }
    | { readonly input?: undefined; readonly history: readonly ChatMessage[]; readonly keepOpen: true }
  )

/** What `sessions.createMany` takes for a kind of the project. With several kinds, each input is that of the kind beside it. */
export type CreateNamed<Name extends KindName> = Name extends KindName
  ? CreateOf<GivenOf<Name>> & { readonly kind: Name }
  : never

export interface CreateOptions {
  /** The first `events()` of the session also gets what nodes told before. Default: false. */
  readonly follow?: boolean
}

export interface Sessions {
  /**
   * Creates a session. The same call with the same idempotency key returns the same session again. `follow: true`: the first `events()` of the
   * session also gets what nodes told before, from the very beginning; it must come within half a minute.
   */
  create<Name extends string>(
    this: void,
    request: Omit<CreateSession, 'kind'> & { readonly kind: Name & FreeName<Name> },
    options?: CreateOptions,
  ): Promise<Session>
  /** Creates a session of a kind of the project: the types of its input and of its result are known by its name (`troupe kinds --types`). */
  create<Name extends KindName>(
    this: void,
    request: NoInfer<CreateOf<GivenOf<Name>>> & { readonly kind: Name },
    options?: CreateOptions,
  ): Promise<Session<ReturnedBy<Name>>>
  /**
   * Creates a session of the kind of this definition (its field `kind`). The types of the input and of the result are known, and an input that does not
   * fit is refused.
   */
  create<Given, Result>(
    this: void,
    definition: Definition<Given, Result>,
    request: NoInfer<CreateOf<Given>>,
    options?: CreateOptions,
  ): Promise<Session<Result>>
  /**
   * Creates many sessions with few calls to Redis. Each request has a result of its own, in the order of the requests: the session that `create`
   * would have resolved with, or the error that it would have thrown. A request that is refused stops no other.
   */
  createMany<Name extends string>(
    this: void,
    requests: readonly (Omit<CreateSession, 'kind'> & { readonly kind: Name & FreeName<Name> })[],
  ): Promise<PromiseSettledResult<Session>[]>
  /** Creates many sessions of kinds of the project: the types of their inputs and results are known by their names (`troupe kinds --types`). */
  createMany<Name extends KindName>(
    this: void,
    requests: readonly (NoInfer<CreateNamed<Name>> & { readonly kind: Name })[],
  ): Promise<PromiseSettledResult<Session<ReturnedBy<Name>>>[]>
  /** Creates many sessions of the kind of this definition. */
  createMany<Given, Result>(
    this: void,
    definition: Definition<Given, Result>,
    requests: readonly NoInfer<CreateOf<Given>>[],
  ): Promise<PromiseSettledResult<Session<Result>>[]>
  /**
   * Another conversation with the kind, the permissions and the messages of this worker up to a position of its history, and with what its session says of
   * approvals; both go on. Calls that were open there have a result that says so. Facts, children and the mailbox stay with the first one.
   */
  fork(this: void, worker: Worker, query?: ForkQuery): Promise<Session>
  /** The session with this id. Does not ask Redis. Throws if the id is malformed, or if the namespace lacks its partition. Then the client looks whether it is new: a later call may find it. */
  get(this: void, id: string): Session
  /**
   * Newest first. `before` is the id of the last session of the page before. Looks at as many sessions as it takes to find those that are wanted;
   * with the state `active` or `cancelling` at those alone that go on.
   */
  list(this: void, query?: SessionsQuery): Promise<ListedSession[]>
  /** The same, but looks at some thousands of sessions at most. `next` says where to go on. */
  page(this: void, query?: SessionsQuery): Promise<SessionsPage>
  /** How many sessions of the namespace are in each state. Reads the records of all of them. */
  counts(this: void): Promise<Readonly<Record<ListedState, number>>>
  /**
   * Removes sessions that ended longer ago than `olderThanMs`, and returns how many. The default is the retention of the namespace, or 7 days
   * if it has none.
   */
  prune(this: void, query?: PruneQuery): Promise<number>
}

export interface SessionsContext {
  readonly submission: Submission
  readonly index: SessionIndex
  readonly hub: EventHub
  readonly sessionContext: (id: string) => SessionContext
  readonly retentionMs: () => Promise<number>
  readonly nodes: () => Promise<readonly NodeSummary[]>
}

/** Sessions that one call is about to create: the hub remembers their ends, and forgets those that were not created after all. */
class TrackedSessions implements Disposable {
  readonly #hub: EventHub
  readonly #ids = new Set<string>()

  constructor(hub: EventHub) {
    this.#hub = hub
  }

  /** Resolves when the session may be created. */
  add(sessionId: string, { keepOpen }: CreateSession): Promise<void> | undefined {
    if (keepOpen) return undefined
    this.#ids.add(sessionId)
    return this.#hub.track(sessionId)
  }

  keep(sessionId: string): void {
    this.#ids.delete(sessionId)
  }

  /** Sessions that are left were refused, or their keys were used before. */
  [Symbol.dispose](): void {
    for (const sessionId of this.#ids) this.#hub.forget(sessionId)
  }
}

interface BeginOptions extends CreateOptions {
  readonly definition?: Definition | undefined
  readonly start?: SessionStart | undefined
}

async function beginSession(
  { submission, hub, sessionContext, nodes }: SessionsContext,
  request: CreateSession,
  { follow = false, definition, start }: BeginOptions,
): Promise<Session<never>> {
  let early: EarlyNotes | undefined
  const followed = async (sessionId: string) => {
    early = await EarlyNotes.open(hub, sessionId)
  }
  using tracked = new TrackedSessions(hub)
  const creating = (sessionId: string) => {
    const isTracked = tracked.add(sessionId, request)
    return follow ? Promise.all([isTracked, followed(sessionId)]) : isTracked
  }
  const made = await submission.create(await withInputBytes(request), creating, definition, start)
  tracked.keep(made.sessionId)
  const { sessionId } = made
  const warning = made.warning ?? (await notifyWarning(request.notify, nodes))
  return new Session(sessionId, sessionContext(sessionId), warning, early)
}

export function sessionsOf(context: SessionsContext): Sessions {
  const { submission, index, hub, sessionContext, retentionMs, nodes } = context
  // Types of results exist for the compiler alone, so one implementation serves a name and a definition.
  const create = async (first: unknown, ...more: readonly unknown[]): Promise<Session<never>> => {
    const definition = isDefinition(first) ? first : undefined
    const [requested, options = {}] = definition === undefined ? [first, ...more] : more
    const request = requested as CreateSession
    return begin(request, { ...(options as CreateOptions), definition })
  }
  const begin = (request: CreateSession, options: BeginOptions) => beginSession(context, request, options)
  const createMany = async (first: unknown, second?: unknown): Promise<PromiseSettledResult<Session<never>>[]> => {
    const definition = isDefinition(first) ? first : undefined
    const requested = definition === undefined ? first : second
    if (!Array.isArray(requested))
      throw new InputError('sessions.createMany takes an array of what sessions.create takes.')
    using tracked = new TrackedSessions(hub)
    const requests = (requested as CreateSession[]).map(withInputBytes)
    const results = await submission.createMany(requests, (id, request) => tracked.add(id, request), definition)
    for (const result of results) if (result.status === 'fulfilled') tracked.keep(result.value.sessionId)
    let live: ReturnType<typeof nodes> | undefined
    const liveOnce = () => (live ??= nodes())
    const warned = results.map(async (result, index): Promise<PromiseSettledResult<Session<never>>> => {
      if (result.status === 'rejected') return result
      const { sessionId } = result.value
      const { notify } = requested[index] as CreateSession
      const warning = result.value.warning ?? (await notifyWarning(notify, liveOnce))
      return { status: 'fulfilled', value: new Session(sessionId, sessionContext(sessionId), warning) }
    })
    return await Promise.all(warned)
  }
  return {
    create,
    createMany,
    async fork(worker, query = {}) {
      checkOptions('sessions.fork', query, forkRules, InputError)
      const summaryOf = (id: string) => new Session(id, sessionContext(id)).summary()
      const { request: whole, start } = await forkRequest(worker, query, summaryOf)
      const { input, ...request } = whole
      const ids = blobsNamedIn(request.history ?? [])
      if (ids.length === 0) return begin(whole, { start })
      const { sessionId: source } = await worker.report()
      const session = await begin(request, { start })
      const at = (sessionId: string) => ({ sessionId, blobs: submission.store(sessionId, 'session').forks.blobs })
      await copyBlobs(ids, at(source), at(session.id))
      const { idempotencyKey } = query
      if (input !== undefined) await session.root.send(input, idempotencyKey === undefined ? {} : { idempotencyKey })
      return session
    },
    get(id) {
      const sessionId = parseId(id, 'session')
      return new Session(sessionId, sessionContext(sessionId))
    },
    list: async (query = {}) => index.list(checkedQuery('sessions.list', query)),
    page: async (query = {}) => index.page(checkedQuery('sessions.page', query)),
    counts: () => index.counts(),
    async prune(query = {}) {
      checkOptions('sessions.prune', query, pruneRules, InputError)
      const olderThanMs = query.olderThanMs ?? (await retentionMs())
      let pruned = 0
      for (const store of submission.stores) pruned += await store.prune(olderThanMs)
      return pruned
    },
  }
}

/** The request with the bytes of its input as Redis can keep them. A value that is no object is refused where all options are checked. */
async function withInputBytes(request: CreateSession): Promise<CreateSession> {
  const input = request?.input
  return holdsBytes(input) ? { ...request, input: withBytes(input) } : request
}

function checkedQuery(call: string, query: SessionsQuery): SessionsQuery {
  checkOptions(call, query, sessionsRules, InputError)
  return query
}
