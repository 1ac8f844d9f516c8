/** Duty: `connect`, and the client that it returns: the calls that programs and the command line make. */

import { type AuditReport, audit } from '../audit/audit.ts'
import { defaultNamespace, defaultRedisUrl, rememberSecretsOfEnvironment } from '../config.ts'
import { checkOptions } from '../core/check/check-options.ts'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { ConfigError, InputError } from '../core/errors.ts'
import { newCreator, parseId, partitionOf } from '../core/ids.ts'
import { policy as defaultPolicy, type Policy } from '../core/policy.ts'
import type { Waker } from '../core/ports/wake.ts'
import { partitionNotFound } from '../core/worker/refusal.ts'
import { toWorkerLog } from '../log.ts'
import { AllowanceStore } from '../store/allowance-store.ts'
import type { AuditStore } from '../store/audit/audit-store.ts'
import type { InspectStore } from '../store/audit/inspect-store.ts'
import { EndpointStore } from '../store/endpoint-store.ts'
import { tagOf } from '../store/keys.ts'
import { Places } from '../store/places.ts'
import { Connections } from '../store/redis/connections.ts'
import { guarded } from '../store/redis/guarded.ts'
import { retentionOf } from '../store/set-up/retention.ts'
import { BullWaker } from '../wake/bull-waker.ts'
import { type ConnectOptions, connectRules } from './connect-options.ts'
import { EventHub } from './event/event-hub.ts'
import { type FleetEvent, FleetEvents, type FleetQuery, fleetRules } from './event/fleet-events.ts'
import { NodeHandle } from './fleet/node-handle.ts'
import { Partitions } from './fleet/partition-list.ts'
import { PartitionLook, type Purpose, partitionsOf } from './fleet/partitions.ts'
import { Pools } from './fleet/pools.ts'
import { Register } from './fleet/register.ts'
import type { Health } from './health/health.ts'
import { type NamespaceFacts, namespaceFacts } from './health/namespace-facts.ts'
import { wholeHealth } from './health/whole-health.ts'
import { DeadLetters } from './letter/dead-letters.ts'
import { asksOf, lettersOf, readersOf } from './partition-stores.ts'
import { Approvals } from './person/approvals.ts'
import { Asks } from './person/asks.ts'
import { pauseAll, resumeAll } from './person/pause.ts'
import {
  type AuditQuery,
  auditRules,
  type DeadLettersQuery,
  type DismissQuery,
  deadLettersRules,
  lettersRules,
  type NodesQuery,
  nodesRules,
  type RedriveQuery,
  redriveRules,
  type WorkersQuery,
  workersRules,
} from './queries.ts'
import { recordAudit, sinceOf } from './recorded-audit.ts'
import type { WorkerReport } from './report.ts'
import type { SessionContext } from './session/session.ts'
import { SessionIndex } from './session/session-index.ts'
import { type Sessions, sessionsOf } from './session/sessions.ts'
import { Submission } from './submission/submission.ts'
import type { DeadLetter, Dismissed, KindSummary, NodeSummary, Redriven } from './summaries.ts'
import { readUsage, type UsageQuery, type UsageRow, usageRules } from './usage.ts'
import { Webhooks } from './webhook/webhooks.ts'
import type { PauseOptions } from './who-and-why.ts'
import { Worker } from './worker.ts'

export interface InternalConnectOptions extends ConnectOptions {
  readonly policy?: Partial<Policy>
  readonly waker?: Waker
  /** Default: create. */
  readonly purpose?: Purpose
}

/** How long connecting may take by default, and how long any other call. */
const connectMs = 5_000
const callMs = 10_000

/** Connects to Redis. If it cannot, it throws a ConfigError or a TransientError whose message is one sentence. */
export async function connect(options: ConnectOptions = {}): Promise<Troupe> {
  checkOptions('connect', options, connectRules, ConfigError)
  rememberSecretsOfEnvironment()
  return connectInternal(options)
}

export async function connectInternal(options: InternalConnectOptions): Promise<Troupe> {
  const redisUrl = options.redisUrl ?? defaultRedisUrl
  const deadlineMs = options.deadlineMs ?? connectMs
  const connections = await Connections.open(redisUrl, { deadlineMs, patienceMs: options.deadlineMs ?? callMs })
  try {
    return new Troupe(connections, await partitionsOf(connections, options, deadlineMs), options)
  } catch (error) {
    connections.end()
    throw error
  }
}

export class Troupe implements AsyncDisposable {
  readonly #connections: Connections
  readonly #namespace: string
  readonly #places: Places
  readonly #look: PartitionLook
  readonly #deadlineMs: number
  readonly #log: WorkerLog
  readonly #inspect: readonly InspectStore[]
  readonly #audits: readonly AuditStore[]
  readonly #register: Register
  readonly #index: SessionIndex
  readonly #submission: Submission
  readonly #dead: DeadLetters
  readonly #hub: EventHub
  readonly #fleet: FleetEvents
  readonly #bull: BullWaker | null
  /** What workers ask of somebody outside: the inbox of all sessions, and the way to answer. */
  readonly asks: Asks
  /** Tool calls that wait for a person, and the decision about each. */
  readonly approvals: Approvals
  /** Creates, finds and removes sessions. */
  readonly sessions: Sessions
  /** How much work each pool has. */
  readonly pools: Pools
  /** The partitions of the namespace, and more of them. */
  readonly partitions: Partitions
  /** Endpoints that are told of what happens, and the deliveries to them. */
  readonly webhooks: Webhooks
  #closing: Promise<void> | undefined

  constructor(connections: Connections, partitions: number, options: InternalConnectOptions) {
    this.#connections = connections
    this.#namespace = options.namespace ?? defaultNamespace
    const log = toWorkerLog(options.logger)
    const places = new Places(connections, this.#namespace, partitions, log)
    this.#places = places
    const deadlineMs = options.deadlineMs ?? callMs
    this.#look = new PartitionLook(places, deadlineMs)
    this.#deadlineMs = deadlineMs
    this.#log = log
    const queues = places.map((one) => ({ ...one, connection: one.redis }))
    this.#bull = options.waker ? null : new BullWaker(queues, log)
    const waker = (options.waker ?? this.#bull) as Waker
    const readers = readersOf(places, deadlineMs)
    this.#inspect = readers.inspect
    this.#audits = readers.audits
    this.#register = new Register(this.#inspect, connections.isCluster)
    this.#index = new SessionIndex(this.#inspect, (id) => this.#inspectOf(id, 'session'))
    const creator = newCreator()
    this.#hub = new EventHub({
      namespace: this.#namespace,
      creator,
      open: (tag) => connections.another(tag),
      deadlineMs,
      commands: (tag) => connections.at(tag),
    })
    const learn = () => this.#look.learn()
    this.#fleet = new FleetEvents((tag) => connections.at(tag), places.all, deadlineMs, learn)
    const caller = { learn, deadlineMs, actor: options.actor }
    const policy = { ...defaultPolicy, ...options.policy }
    this.#submission = new Submission({ places, namespace: this.#namespace, creator, waker, policy, ...caller })
    const { stores } = this.#submission
    const [namespace, look, { actor }] = [this.#namespace, this.#look, options]
    this.asks = new Asks(asksOf(places, stores, deadlineMs), { waker, namespace, actor, look })
    this.pools = new Pools(readers.pools, () => this.nodes())
    this.partitions = new Partitions({ connections, namespace, places, look, stores: this.#inspect, deadlineMs })
    this.approvals = new Approvals(this.asks)
    this.webhooks = new Webhooks({
      store: new EndpointStore(places.all, deadlineMs),
      first: places.first,
      ...caller,
      allowPrivateAddresses: options.webhooks?.allowPrivateAddresses ?? false,
    })
    this.sessions = sessionsOf({
      submission: this.#submission,
      index: this.#index,
      hub: this.#hub,
      sessionContext: (id) => this.#context(id),
      retentionMs: () => this.#retentionMs(),
      nodes: () => this.nodes(),
    })
    this.#dead = new DeadLetters(lettersOf(places, stores, readers, deadlineMs), waker, this.#submission)
  }

  readonly workers = {
    get: (id: string): Worker => {
      const workerId = parseId(id, 'worker')
      return new Worker(workerId, this.#submission, this.#inspectOf(workerId, 'worker'))
    },
    /** The workers of one session, or of the newest sessions. */
    list: async (query: WorkersQuery = {}): Promise<WorkerReport[]> => {
      checkOptions('workers.list', query, workersRules, InputError)
      const workers = await this.#look.knowing(() => this.#index.workers(query))
      // Every session has its root. Without one, the session does not exist: this call throws.
      if (workers.length === 0 && query.sessionId !== undefined) await this.sessions.get(query.sessionId).summary()
      return workers
    },
  }

  #context(id: string): SessionContext {
    const store = this.#inspectOf(id, 'session')
    return {
      submission: this.#submission,
      asks: this.asks,
      store,
      hub: this.#hub,
      redis: this.#connections.at(tagOf(this.#namespace, store.partition)),
      tag: tagOf(this.#namespace, store.partition),
      log: this.#log,
      deadlineMs: this.#deadlineMs,
    }
  }

  #inspectOf(id: string, what: 'worker' | 'session'): InspectStore {
    const store = this.#inspect[partitionOf(id)]
    if (store !== undefined) return store
    void Troupe.lookForPartitions(this).catch(() => {})
    throw partitionNotFound(id, what, this.#namespace)
  }

  /** The nodes that run. `stalled: true`: also those that were not seen for the time of a lease, marked so, until they are forgotten. */
  async nodes(query: NodesQuery = {}): Promise<NodeSummary[]> {
    checkOptions('nodes', query, nodesRules, InputError)
    return this.#register.nodes(query)
  }

  /** One node: which workers it runs, and giving these to other nodes when it stands still. */
  node(id: string): NodeHandle {
    const [places, inspect, submission, deadlineMs] = [
      this.#places.all,
      this.#inspect,
      this.#submission,
      this.#deadlineMs,
    ]
    return new NodeHandle(id, { places, inspect, submission, deadlineMs })
  }

  /** The kinds that nodes have registered, and how many live nodes host each of them. A node that drains takes up no work, and is not counted. */
  kinds(): Promise<KindSummary[]> {
    return this.#register.kinds()
  }

  /** Newest first; of one worker if `workerId` is set, and without those that were dealt with if `open` is true. */
  async deadLetters(query: DeadLettersQuery = {}): Promise<DeadLetter[]> {
    checkOptions('deadLetters', query, deadLettersRules, InputError)
    const { workerId } = query
    return this.#dead.list({ ...query, workerId: workerId === undefined ? undefined : parseId(workerId, 'worker') })
  }

  /**
   * Puts dead letters back into their mailboxes: the letter with this id, or all letters of a worker, or all letters. Each is put back once, and
   * received as a new message. `newSession: true` begins new sessions with the messages instead. If the store refuses the letter that you named, the call throws. If it refuses one of several, the answer says so.
   */
  async redrive(query: RedriveQuery): Promise<Redriven[]> {
    checkOptions('redrive', query, redriveRules, InputError)
    return this.#dead.redrive(query)
  }

  /**
   * Marks dead letters as dealt with, so that doctor no longer warns of them: the letter with this id, or those of a worker, or all that were
   * not put back. They stay as evidence, and each can still be put back by its id. Throws as `redrive` does.
   */
  async dismiss(query: DismissQuery): Promise<Dismissed[]> {
    checkOptions('dismiss', query, lettersRules, InputError)
    return this.#dead.dismiss(query)
  }

  /**
   * Checks that every accepted message is accounted for, and that records, histories and mailboxes agree: in one session, or in all. Writes
   * nothing. It looks at a fault several times before it reports it. Throws a ConfigError if nothing was ever started in the namespace.
   */
  async audit(query: AuditQuery = {}): Promise<AuditReport> {
    checkOptions('audit', query, auditRules, InputError)
    const { onProgress } = query
    if (query.record && typeof query.since === 'number')
      throw new InputError(
        'audit: an audit since a time is not recorded: monitors would forget what was found before that time. Leave out record, or audit since "last".',
      )
    if (query.sessionId === undefined) {
      await this.#refuseUnused()
      const [first] = this.#audits as [AuditStore]
      const [at, since] = [await first.now(), await sinceOf(this.#inspect[0] as InspectStore, query.since)]
      const report = await audit(this.#audits, { since }, onProgress)
      const { redis } = this.#places.first
      if (query.record) await recordAudit(redis, this.#namespace, report, at, this.#deadlineMs)
      return report
    }
    if (query.since !== undefined)
      throw new InputError('audit: since is for an audit of all sessions; leave out either since or sessionId.')
    const sessionId = parseId(query.sessionId, 'session')
    await this.#look.knowing(async () => this.#inspectOf(sessionId, 'session'))
    const own = this.#audits[partitionOf(sessionId)] as AuditStore
    // The other partitions may be away, and say nothing of this session.
    if (await own.isUnused()) await this.#refuseUnused()
    return audit([own], { sessionId }, onProgress)
  }

  async #refuseUnused(): Promise<void> {
    const unused = await Promise.all(this.#audits.map((store) => store.isUnused()))
    if (unused.every(Boolean))
      throw new ConfigError(
        `nothing was ever started in namespace "${this.#namespace}": check --namespace or TROUPE_NAMESPACE (namespace in code).`,
      )
  }

  /**
   * Pauses all sessions of the namespace, also those that are created later. Every node learns it within about a second: it takes up no work then,
   * and its turns end at their next step. What is sent waits in its order. The pause lasts until `resume`. If all sessions are paused, the first
   * pause stands.
   */
  async pause(why?: string, options: PauseOptions = {}): Promise<void> {
    await pauseAll(this.#submission, () => this.#look.learn(), why, options)
  }

  /** Ends the pause of all sessions. Sessions that were paused by themselves stay paused. */
  async resume(): Promise<void> {
    await resumeAll(this.#submission, () => this.#look.learn())
  }

  async #retentionMs(): Promise<number> {
    const { redis } = this.#places.first
    const read = () => retentionOf(redis, this.#namespace)
    return (await guarded('reading the retention', read, this.#deadlineMs)) ?? defaultPolicy.retentionMs
  }

  /** How the namespace stands, in numbers that are cheap to read: for monitors, every few seconds. */
  facts(): Promise<NamespaceFacts> {
    return namespaceFacts(this.#inspect, this.#connections, this.#deadlineMs)
  }

  /** What model calls used and cost, by day or hour, kind and model. */
  usage(query: UsageQuery = {}): Promise<UsageRow[]> {
    checkOptions('usage', query, usageRules, InputError)
    return readUsage(this.#inspect, query)
  }

  /** For the API: a partition that is not known may be new. */
  static lookForPartitions(troupe: Troupe): Promise<void> {
    return troupe.#look.learn()
  }

  /** For the API: where a stream of all sessions begins. It throws an InputError if there is no such position. */
  static fleetPosition(troupe: Troupe, after: string | undefined): Promise<string> {
    return troupe.#fleet.position(after)
  }

  /** For the API: what its access tokens give their sessions to spend. */
  static allowancesOf(troupe: Troupe): AllowanceStore {
    return new AllowanceStore(troupe.#places.first, troupe.#deadlineMs)
  }

  /** The facts that `troupe doctor` judges. */
  health(): Promise<Health> {
    return wholeHealth({
      connections: this.#connections,
      places: this.#places,
      inspect: this.#inspect,
      audits: this.#audits,
      register: this.#register,
      webhooks: this.webhooks,
      storeOf: (id) => this.#inspectOf(id, 'session'),
      deadlineMs: this.#deadlineMs,
    })
  }

  /**
   * Follows the stored events of all sessions, those of one partition in order. `after` is the `position` of the last event that a follower got: each later
   * event comes once. Deltas, states and logs are not among them: follow a session for these.
   */
  events(query: FleetQuery = {}): AsyncGenerator<FleetEvent, void, undefined> {
    checkOptions('events', query, fleetRules, InputError)
    return this.#fleet.follow(query)
  }

  /**
   * Ends all followers of events. Every other call that waits now, or is made later, throws a ConflictError (`client_closed`). Safe to call
   * twice.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#look.stop()
    this.#fleet.stop()
    await Promise.all([this.#hub.stop(), this.#bull?.stop(), this.webhooks.close()])
    this.#connections.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
