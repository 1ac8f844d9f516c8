/**
 * Duty: makes sessions and messages: checks what a caller gave, builds ids, first mail and event, calls the store, wakes slots.
 * The client and the listener for submitted jobs (submitted-job.ts) both use it, so that both refuse the same things in the same words.
 */
import { performance } from 'node:perf_hooks'
import { anything, checkOptions, keyRule, type Rules, yesOrNo } from '../../core/check/check-options.ts'
import { isObject } from '../../core/check/is-object.ts'
import { checkInput, type Definition, isDefinition, kindNamed } from '../../core/definition/kind-types.ts'
import { nameRule } from '../../core/definition/worker-name.ts'
import { InputError } from '../../core/errors.ts'
import { encodeEvents } from '../../core/event/event-notes.ts'
import type { ChatMessage } from '../../core/history/chat/chat-message.ts'
import { encodeGivenHistory, givenConfiguration } from '../../core/history/given-history.ts'
import { digestKey, type KeyOwner, newId, parseId, parseKind, partitionOf, unhostedPool } from '../../core/ids.ts'
import { toJson } from '../../core/json.ts'
import { defaultSessionLimits, type Policy, type SessionLimits } from '../../core/policy.ts'
import type { Waker, Wakeup } from '../../core/ports/wake.ts'
import { encodeConfiguration } from '../../core/worker/message/configuration.ts'
import { encodeInput } from '../../core/worker/message/message.ts'
import { encodeOrder, type Order } from '../../core/worker/message/order.ts'
import type { SendTime } from '../../core/worker/message/steer.ts'
import type { Notify } from '../../core/worker/notify.ts'
import { checkPermissions, encodePermissions, type Permissions, restrictions } from '../../core/worker/permissions.ts'
import { partitionNotFound, refusalError } from '../../core/worker/refusal.ts'
import { defaultTurnShare, encodeTurnShare, type GivenTurnShare, turnShareRules } from '../../core/worker/turn-share.ts'
import type { Places } from '../../store/places.ts'
import { encodeBranch } from '../../store/record/session-record.ts'
import type { CreateAnswer, SessionOrder } from '../../store/session/create-sessions.ts'
import { refusalOfPost } from '../../store/session/post-answer.ts'
import { type RetryAnswer, type RetryOrder, SessionStore } from '../../store/session/session-store.ts'
import { extraWakeup } from '../../store/wakeups.ts'
import type { Sent } from '../summaries.ts'
import { type ApprovalOptions, approvalOptionRules, approvalText } from './approval-options.ts'
import { hasLongMedia, mediaAside } from './kept-media.ts'
import { KeyHomes } from './key-homes.ts'
import { checkLimits } from './limits.ts'
import { notifyText } from './notify-text.ts'
import { onceLearned } from './once-learned.ts'
import { firstInput, type SessionStart } from './session-start.ts'
import { keyWarning, sentWarning, unhostedWarning } from './warnings.ts'

export interface CreateSession extends ApprovalOptions, GivenTurnShare {
  readonly kind: string
  /** The first message. It may be left out where a conversation begins with a history: then the session waits for its first message. */
  readonly input?: unknown
  /** Shown to people; default: the kind. At most 64 bytes. */
  readonly name?: string | undefined
  /** A conversation stays open for further input after each run. Default: a job, which completes. */
  readonly keepOpen?: boolean | undefined
  /**
   * What its first worker, an agent, knows from the beginning: a conversation that began elsewhere. A call without a result gets one that says
   * so, a result without a call becomes text, and ids that come twice are replaced. At most 50 000 messages and 32 MiB.
   */
  readonly history?: readonly ChatMessage[] | undefined
  readonly limits?: Partial<SessionLimits> | undefined
  /** What its workers may use, beyond what their kinds define; children get no more than their parents. Default: all. */
  readonly permissions?: Permissions | undefined
  /** Where its result goes when it ends: into a queue of BullMQ, or by a signed POST. Default: nowhere. */
  readonly notify?: Notify | undefined
  /** The same key within 24 h returns the same session, and creates none even if that session was pruned in the meantime. */
  readonly idempotencyKey?: string | undefined
}

const createRules: Rules<CreateSession> = {
  kind: anything,
  input: anything,
  name: nameRule,
  keepOpen: yesOrNo,
  history: { expects: 'a list of messages', fits: Array.isArray },
  limits: { expects: 'an object like { workers: 500 }', fits: isObject },
  permissions: { expects: `an object with ${restrictions.join(', ')}`, fits: isObject },
  ...approvalOptionRules,
  ...turnShareRules,
  notify: { expects: 'an object like { queue: "results" } or { url: "https://…" }', fits: isObject },
  idempotencyKey: keyRule,
}

export interface Created {
  readonly sessionId: string
  readonly workerId: string
  readonly warning: string | null
  /** False: its key had begun the session before. */
  readonly isNew: boolean
  /** The call made its key just before: nothing is wrong with that. */
  readonly isAgain: boolean
}

/** A session that was checked and may be created. */
interface Prepared {
  readonly request: CreateSession
  readonly store: SessionStore
  readonly order: SessionOrder
}

interface Accepted {
  readonly sent: Sent
  /** Another message was sent before under its key. */
  readonly isOther: boolean
}

export interface SubmissionContext {
  readonly places: Pick<Places, 'first' | 'map'>
  /** Looks whether there are more partitions by now. Default: nobody does. */
  readonly learn?: (() => Promise<unknown>) | undefined
  readonly namespace: string
  /** The client in the ids of the jobs that it creates; absent: it listens to none of their ends. */
  readonly creator?: string | undefined
  readonly waker: Waker
  readonly policy: Policy
  readonly deadlineMs?: number
  /** Default: caller. */
  readonly keyOwner?: KeyOwner
  /** Who calls, for events. */
  readonly actor?: string | undefined
}

const startTurnShare = encodeTurnShare(defaultTurnShare)

const deadlineMsByDefault = 10_000
/** If this client has created and sent nothing for this long, it takes the system to be idle. */
const quietMs = 5

export class Submission {
  readonly #context: SubmissionContext
  readonly #stores: readonly SessionStore[]
  readonly #keyHomes: KeyHomes
  #madeAt = 0

  constructor(context: SubmissionContext) {
    this.#context = context
    const { places, policy, deadlineMs = deadlineMsByDefault } = context
    this.#stores = places.map(
      ({ partition, keys, redis, caller }) => new SessionStore(redis, caller, keys, partition, policy, deadlineMs),
    )
    const times = { keyMs: policy.givenKeyMs, deadlineMs }
    this.#keyHomes = new KeyHomes(places.first, this.#stores, times)
  }

  /** The detail of events that says who called. */
  get by(): { readonly by?: string } {
    const { actor } = this.#context
    return actor === undefined ? {} : { by: actor }
  }

  /** The store of an id's partition. Throws a NotFoundError for one that the namespace does not have. */
  store(id: string, what: 'worker' | 'session'): SessionStore {
    const store = this.#stores[partitionOf(id)]
    if (store === undefined) throw partitionNotFound(id, what, this.#context.namespace)
    return store
  }

  get stores(): readonly SessionStore[] {
    return this.#stores
  }

  /**
   * Calls `creating` with the id before Redis is asked, so that its caller misses no event of the session. `definition`: that of the kind, if the
   * caller has it. `start`: with what else it begins.
   */
  async create(
    request: CreateSession,
    creating: (sessionId: string) => Promise<unknown> | undefined = () => undefined,
    definition?: Definition,
    start?: SessionStart,
  ): Promise<Created> {
    const creatingOnce = () => this.#create(request, creating, definition, start)
    return creatingOnce().catch(async (error) => this.#onceMore(error, creatingOnce))
  }

  #onceMore<T>(error: unknown, again: () => Promise<T>): Promise<T> {
    const { learn, deadlineMs = deadlineMsByDefault } = this.#context
    return onceLearned(error, again, { learn, known: () => this.#stores.length, deadlineMs })
  }

  async #create(
    request: CreateSession,
    creating: (sessionId: string) => Promise<unknown> | undefined,
    definition: Definition | undefined,
    start: SessionStart | undefined,
  ): Promise<Created> {
    const prepared = await this.#prepare(request, definition, start)
    // Most callers have nothing to wait for: then the call costs no further pass of the event loop.
    const isReady = creating(prepared.order.sessionId)
    if (isReady) await isReady
    const wasQuiet = this.#wasQuiet()
    const made = await prepared.store.create(prepared.order)
    this.#wake(prepared.store.partition, made.wakeups, wasQuiet ? prepared.order.pool : '')
    return created(prepared, made)
  }

  /**
   * Each request is answered as `create` would answer it alone: with the session, or with the error that it met. The sessions of one partition go to
   * Redis in as few scripts as can hold them.
   */
  async createMany(
    requests: readonly (CreateSession | Promise<CreateSession>)[],
    creating: (sessionId: string, request: CreateSession) => Promise<void> | undefined,
    definition?: Definition,
  ): Promise<PromiseSettledResult<Created>[]> {
    const prepared = await Promise.allSettled(requests.map(async (request) => this.#prepare(await request, definition)))
    const ready = prepared.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    await Promise.all(ready.map(async ({ order, request }) => creating(order.sessionId, request)))
    const wasQuiet = this.#wasQuiet()
    const answers = new Map<Prepared, PromiseSettledResult<CreateAnswer>>()
    const createIn = async (store: SessionStore, group: readonly Prepared[]) => {
      const settled = await store.createMany(group.map(({ order }) => order))
      for (const [index, one] of group.entries()) {
        const answer = settled[index] as PromiseSettledResult<CreateAnswer>
        answers.set(one, answer)
        const extraIn = wasQuiet && index === 0 ? one.order.pool : ''
        if (answer.status === 'fulfilled') this.#wake(store.partition, answer.value.wakeups, extraIn)
      }
    }
    await Promise.all([...Map.groupBy(ready, ({ store }) => store)].map(([store, group]) => createIn(store, group)))
    return Promise.allSettled(
      prepared.map(async (one) => {
        if (one.status === 'rejected') throw one.reason
        const answer = answers.get(one.value) as PromiseSettledResult<CreateAnswer>
        const { request } = one.value
        if (answer.status === 'rejected')
          return this.#onceMore(answer.reason, () =>
            this.#create(request, (id) => creating(id, request), definition, undefined),
          )
        return created(one.value, answer.value)
      }),
    )
  }

  async #prepare(request: CreateSession, definition?: Definition, start: SessionStart = {}): Promise<Prepared> {
    checkOptions('sessions.create', request, createRules, InputError)
    const kind = kindOf(request, definition)
    const name = request.name ?? kind
    const limits = { ...defaultSessionLimits, ...checkLimits(request.limits) }
    const permissions = encodePermissions(checkPermissions(request.permissions ?? {}))
    const approval = approvalText(request)
    const turnShare = encodeTurnShare(request)
    const key = request.idempotencyKey
    const partitions = this.#stores.length
    const keyDigest = key === undefined ? null : digestKey(key, 'session', this.#context.keyOwner)
    const { configured, branchOf } = start
    const configuration = encodeConfiguration(configured ?? {})
    const given = request.history?.length ? encodeGivenHistory(request.history) : []
    const last = request.history?.at(-1)?.at ?? 0
    const history = configured && configuration !== '' ? [...given, givenConfiguration(configured, last)] : given
    const { input, blobs } = hasLongMedia(request.input)
      ? mediaAside(request.input)
      : { input: request.input, blobs: [] }
    const inputJson = firstInput({ ...request, input })
    if (definition !== undefined && inputJson !== null) checkInput(definition, kind, inputJson)
    const mail = inputJson === null ? null : encodeInput(null, inputJson)
    const mode = request.keepOpen ? 'conversation' : 'job'
    const creator = mode === 'job' ? this.#context.creator : undefined
    const home = await this.#keyHomes.homeOf({ key, keyDigest, kind, idIn: (partition) => newId(partition, creator) })
    const { store, sessionId, pool } = home
    const event = encodeEvents([
      [
        'session.created',
        {
          kind,
          ...(name === kind ? {} : { name }),
          ...(mode === 'job' ? {} : { mode }),
          ...this.by,
          ...(given.length > 0 && { messages: given.length }),
          ...(mail === null && { rests: true as const }),
          ...(branchOf && { branchOf: branchOf.workerId }),
        },
      ],
    ])
    const order = {
      sessionId,
      kind,
      name,
      pool,
      mode,
      mail,
      history,
      blobs,
      keyDigest,
      partitions,
      limits,
      permissions,
      configured: configuration,
      approval,
      turnShare: turnShare === startTurnShare ? undefined : turnShare,
      notify: notifyText(request.notify),
      branchOf: branchOf && encodeBranch(branchOf),
      event,
    } as const
    return { request, store, order }
  }

  /** Throws a typed error that names the worker when the message cannot be accepted. */
  async send(
    workerId: string,
    value: unknown,
    {
      idempotencyKey,
      when = 'queue',
    }: { readonly idempotencyKey?: string | undefined; readonly when?: SendTime | undefined } = {},
  ): Promise<Accepted> {
    const id = parseId(workerId, 'worker')
    const store = this.store(id, 'worker')
    const mail = encodeInput(null, toJson(value, 'the message'))
    const isGiven = idempotencyKey !== undefined
    const { keyOwner } = this.#context
    const digest = digestKey(isGiven ? `${id}/${idempotencyKey}` : newId(partitionOf(id)), 'message', keyOwner)
    const event = encodeEvents([['message.accepted', { kind: 'input', ...this.by, ...(when !== 'queue' && { when }) }]])
    const wasQuiet = this.#wasQuiet()
    const answer = await store.post(id, mail, { digest, isGiven, when }, event)
    if (!('position' in answer)) throw refusalError(refusalOfPost(answer, id), `worker ${id}`)
    this.#wake(store.partition, answer.wakeups, wasQuiet ? answer.wokenIn : '')
    // A key made here is known only to a call that was sent again.
    const again = isGiven && answer.kind !== 'ok'
    const isOther = again && answer.kind === 'other'
    const { position, steers } = answer
    return { sent: { position, again, steers, warning: again ? sentWarning(isOther) : null }, isOther }
  }

  /** The digest for something that a caller does to this worker or session under a key: `of` says what, so that one key may serve for several acts. */
  digestOfAct(id: string, of: string, key: string): string {
    return digestKey(`${id}/${of}/${key}`, 'act', this.#context.keyOwner)
  }

  /**
   * Asks something of an agent itself. Returns the position of the order in its inbox, and whether it was asked before under this key; throws like `send`.
   */
  async order(
    workerId: string,
    order: Order,
    idempotencyKey?: string,
  ): Promise<{ readonly position: number; readonly again: boolean }> {
    const id = parseId(workerId, 'worker')
    const store = this.store(id, 'worker')
    const isGiven = idempotencyKey !== undefined
    // Another order under the same key is another act.
    const digest = isGiven
      ? this.digestOfAct(id, encodeOrder(order), idempotencyKey)
      : digestKey(newId(partitionOf(id)), 'message', this.#context.keyOwner)
    const event = encodeEvents([['message.accepted', { kind: 'order', ...this.by }]])
    const wasQuiet = this.#wasQuiet()
    const answer = await store.post(id, encodeOrder(order), { digest, isGiven }, event)
    if (!('position' in answer)) throw refusalError(refusalOfPost(answer, id), `worker ${id}`)
    this.#wake(store.partition, answer.wakeups, wasQuiet ? answer.wokenIn : '')
    return { position: answer.position, again: isGiven && answer.kind !== 'ok' }
  }

  /** Sends wake-ups that a script has put. */
  wake(partition: number, wakeups: readonly Wakeup[]): void {
    this.#wake(partition, wakeups, '')
  }

  /** Lets the failed run of a session go on, and wakes a slot for it. */
  async retry(sessionId: string, order: RetryOrder): Promise<RetryAnswer> {
    const store = this.store(sessionId, 'session')
    const answer = await store.retry(sessionId, order)
    if (answer.kind === 'ok') this.#wake(store.partition, answer.wakeups, '')
    return answer
  }

  /**
   * A script puts no wake-up while an awake slot may come to the work soon. But the turn of that slot may last, and on an idle system other slots
   * have nothing to do. If `pool` is not empty, one more wake-up is sent there then.
   */
  #wake(partition: number, wakeups: readonly Wakeup[], pool: string): void {
    const isExtra = wakeups.length === 0 && pool !== '' && pool !== unhostedPool
    this.#context.waker.wake(partition, isExtra ? [extraWakeup(pool)] : wakeups)
  }

  #wasQuiet(): boolean {
    const before = this.#madeAt
    this.#madeAt = performance.now()
    return this.#madeAt - before > quietMs
  }
}

async function created({ store, order }: Prepared, made: CreateAnswer): Promise<Created> {
  const { sessionId, workerId } = made
  const { kind, pool } = order
  const isOther = made.kind === 'other'
  const isNew = sessionId === order.sessionId
  const warning = isNew ? unhostedWarning(kind, pool) : keyWarning(kind, await store.kindOf(workerId), isOther)
  return { sessionId, workerId, warning, isNew, isAgain: !isNew && !isOther }
}

function kindOf({ kind }: CreateSession, definition: Definition | undefined): string {
  if (isDefinition(kind))
    throw new InputError('kind must be a name: pass a definition in front, sessions.create(definition, { input }).')
  if (definition === undefined) return parseKind(kind)
  const named = kindNamed(definition, 'sessions.create')
  if (kind === undefined) return named
  throw new InputError(`sessions.create takes the kind from the definition, "${named}": leave the option kind out.`)
}
