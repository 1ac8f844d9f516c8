/**
 * Duty: puts store, queue and runtime together: `startNode`. Nothing else knows all three.
 * COMPOSE-1 A node that has started is registered, receives wake-ups, and sweeps.
 * COMPOSE-2 `stop` leaves nothing running.
 */
import { randomBytes } from 'node:crypto'
import { connectRules } from './client/connect-options.ts'
import { metricsPage } from './client/health/metrics-page.ts'
import { namespaceFacts } from './client/health/namespace-facts.ts'
import { telling } from './client/webhook/telling.ts'
import { growthOf, hearing, listenersOf } from './compose/listening.ts'
import { nodeOf, type Parts, storesOf } from './compose/parts.ts'
import { defaultNamespace, defaultRedisUrl, readModelSettings, rememberSecretsOfEnvironment } from './config.ts'
import { checkOptions, type Rules, wholeNumberRule, yesOrNo } from './core/check/check-options.ts'
import { isObject } from './core/check/is-object.ts'
import { namePlacesFrom } from './core/code-place.ts'
import { isWorkerDefinition, type WorkerDefinition } from './core/definition/define-worker.ts'
import type { ModelSettings } from './core/definition/model.ts'
import { ConfigError } from './core/errors.ts'
import { policy as defaultPolicy, type Policy, retentionMsMin } from './core/policy.ts'
import type { TurnStore } from './core/ports/ports.ts'
import { noTelemetry, type Telemetry } from './core/ports/telemetry.ts'
import type { Waker } from './core/ports/wake.ts'
import { checkCeiling, type Permissions, restrictions } from './core/worker/permissions.ts'
import { type LoggerLike, toWorkerLog } from './log.ts'
import { openModels } from './models/model-source.ts'
import { offlineNotice } from './models/offline-notice.ts'
import type { WebhookSettings } from './notify/result-teller.ts'
import type { Kind } from './runtime/node/kind.ts'
import { KindMaker } from './runtime/node/kind-maker.ts'
import type { RuntimeNode } from './runtime/node/node.ts'
import { makeKinds, noKinds, workersOf } from './runtime/node/node-kinds.ts'
import { checkPools, poolOf } from './runtime/node/pools.ts'
import { RunningNode, type TroupeNode } from './runtime/node/running-node.ts'
import { kindsOfFiles, loadWorkers, readWorkers } from './runtime/node/worker-loader.ts'
import { currentUserCall } from './runtime/user-code/user-code.ts'
import { InspectStore } from './store/audit/inspect-store.ts'
import { RedisLivePublisher } from './store/event/live-channel.ts'
import { type OpenPlace, Places } from './store/places.ts'
import { Connections } from './store/redis/connections.ts'
import { guarded, guardedReads } from './store/redis/guarded.ts'
import { checkNamespace } from './store/set-up/namespace.ts'
import { agreeOnRetention } from './store/set-up/retention.ts'
import { CountingTelemetry } from './telemetry/counting-telemetry.ts'
import { joinedTelemetry } from './telemetry/joined-telemetry.ts'
import { MetricSet } from './telemetry/metric-set.ts'
import { type MetricsAddress, openMetricsServer } from './telemetry/metrics-server.ts'
import { BullWaker } from './wake/bull-waker.ts'
import { InProcessWaker } from './wake/in-process-waker.ts'
import { Watchdog } from './watchdog/watchdog.ts'

export type { MetricsAddress, TroupeNode, WebhookSettings }
export { kindsOfFiles, loadWorkers, readWorkers }

export interface StartNodeOptions {
  /** Default: redis://127.0.0.1:6379. No variable of the environment is read for it. */
  readonly redisUrl?: string | undefined
  /** Tells several troupes on one Redis apart. Default: troupe. */
  readonly namespace?: string | undefined
  /** Refused when the namespace has another number. */
  readonly partitions?: number | undefined
  /** Folder of worker files, a path or a file URL such as `new URL('./workers', import.meta.url)`; or definitions by kind. */
  readonly workers: string | URL | ReadonlyMap<string, WorkerDefinition> | Readonly<Record<string, WorkerDefinition>>
  /**
   * Leave out worker files that cannot be loaded, and kinds that cannot be used (a model without its key, for one), with a warning in the log.
   * Default: false, and the node refuses to start.
   */
  readonly skipBroken?: boolean | undefined
  /** Host only the kinds of these pools. Default: all. */
  readonly pools?: readonly string[] | undefined
  /** How many turns run at once. Default 50. */
  readonly concurrency?: number | undefined
  /** The model of agents that name none, and the addresses of providers. Default: TROUPE_MODEL and the providers' own variables. */
  readonly models?: ModelSettings | undefined
  /** Called as `(fields, message)` with the logs of workers and with what goes wrong: pino(), console, … Default: none, and nothing is logged. */
  readonly logger?: LoggerLike | undefined
  /** Receives spans of turns, model calls, tool calls and steps of recipes, and counts of tokens, iterations and ends of agents' runs. Default: none. */
  readonly telemetry?: Telemetry | undefined
  /** The secrets that sign requests of `notify: { url }`, and where these may go. Default: the node sends none of them, but those to endpoints. */
  readonly webhooks?: WebhookSettings | undefined
  /** Answer with metrics at this port, for Prometheus: `http://127.0.0.1:<port>/metrics`. Port 0: any free one. Default: no. */
  readonly metrics?: MetricsAddress | undefined
  /** How long to wait for Redis at the start. Default 5 s. */
  readonly deadlineMs?: number | undefined
  /**
   * How long finished sessions are kept, at least a minute. It holds for the whole namespace: a node that is started without it takes the value that
   * was set last. Default 7 days.
   */
  readonly retentionMs?: number | undefined
  /** What this node permits to each session at most, whatever the session asks for. Default: everything is permitted. */
  readonly permissions?: Permissions | undefined
  /** How long `stop` waits for turns before it releases them. Default 30 s. */
  readonly drainMs?: number | undefined
  /**
   * Whether the process ends when code blocks its event loop for longer than its leases last (16 s): the node can do nothing any more, and holds up
   * its workers. Default true.
   */
  readonly endIfBlocked?: boolean | undefined
}

function isWorkers(value: unknown): boolean {
  if (value instanceof URL) return value.protocol === 'file:'
  return typeof value === 'string' ? value !== '' : isObject(value) && !isWorkerDefinition(value)
}

const nodeRules: Rules<StartNodeOptions> = {
  ...connectRules,
  workers: {
    isRequired: true,
    expects:
      'a folder of worker files (a path or a file URL), or definitions by kind, like { echo: defineWorker({ … }) }',
    fits: isWorkers,
  },
  pools: {
    expects: "a list of names that is not empty, like ['default']",
    fits: (value) => Array.isArray(value) && value.length > 0 && value.every((pool) => typeof pool === 'string'),
  },
  skipBroken: yesOrNo,
  concurrency: wholeNumberRule(1, defaultPolicy.slotsMax),
  retentionMs: wholeNumberRule(retentionMsMin, Number.MAX_SAFE_INTEGER),
  drainMs: wholeNumberRule(0, Math.floor(defaultPolicy.timeoutMsMax / 2)),
  telemetry: {
    expects: 'an object with startSpan and count',
    fits: (value) => isObject(value) && typeof value.startSpan === 'function' && typeof value.count === 'function',
  },
  webhooks: {
    expects: "an object like { secrets: ['whsec_…'] }",
    fits: (value) => isObject(value) && (value.secrets === undefined || Array.isArray(value.secrets)),
  },
  metrics: {
    expects: 'an object like { port: 9464 }',
    fits: (value) => isObject(value) && Number.isInteger(value.port),
  },
  permissions: { expects: `an object with ${restrictions.join(', ')}`, fits: isObject },
  endIfBlocked: yesOrNo,
  models: { expects: 'an object like { default: "openai/gpt-5", env: { OPENAI_API_KEY: "…" } }', fits: isObject },
}

const modelRules: Rules<ModelSettings> = {
  default: { expects: 'provider/model, like openai/gpt-5', fits: (value) => typeof value === 'string' },
  env: { isRequired: true, expects: 'an object of variables, like { OPENAI_API_KEY: "…" }', fits: isObject },
  prices: { expects: 'an object like { "openai/gpt-5": { input: 1.25, output: 10 } }', fits: isObject },
}

/** Starts a node in this process. Throws a ConfigError or a TransientError (`store_unavailable`) with one clear sentence. */
export async function startNode(options: StartNodeOptions): Promise<TroupeNode> {
  checkOptions('startNode', options, nodeRules, ConfigError)
  rememberSecretsOfEnvironment()
  namePlacesFrom([process.cwd()])
  if (options.models !== undefined) checkOptions('models of startNode', options.models, modelRules, ConfigError)
  const { pools } = options
  const log = toWorkerLog(options.logger)
  const leaveOut = (kind: string, { message }: ConfigError) => log.warn(`a kind is not hosted: ${message}`, { kind })
  const { kinds: definitions, broken, skipped } = await workersOf(options.workers)
  for (const sentence of skipped) log.warn(sentence)
  for (const [kind, error] of broken) {
    if (!options.skipBroken) throw error
    leaveOut(kind, error)
  }
  const entries = [...definitions]
  if (entries.length === 0) throw new ConfigError(noKinds(options.workers, broken.size))
  checkPools(pools, [...new Set(entries.map(([, definition]) => poolOf(definition)))].sort())
  const models = options.models ?? readModelSettings()
  const counted = options.metrics && new MetricSet()
  const ports = [options.telemetry, counted && new CountingTelemetry(counted)].filter((port) => port !== undefined)
  const telemetry = joinedTelemetry(ports)
  const maker = new KindMaker(openModels(models), telemetry)
  const wanted = entries.filter(([, definition]) => pools === undefined || pools.includes(poolOf(definition)))
  const kinds = makeKinds(maker, wanted, options.skipBroken ? leaveOut : undefined)
  if (kinds.length === 0) throw new ConfigError(noKinds(options.workers, wanted.length))
  const offline = offlineNotice(wanted, models)
  if (offline) log[offline.level](offline.message, { kinds: offline.kinds })
  return startInternalNode({ ...options, telemetry, counted, kinds, isWatched: true, onStopped: () => maker.close() })
}

/** Those of these kinds with which no node could be started here, and why: a model without its key, for one. */
export async function unusableKinds(
  definitions: ReadonlyMap<string, WorkerDefinition>,
  models: ModelSettings,
): Promise<Map<string, ConfigError>> {
  const maker = new KindMaker(openModels(models))
  const unusable = new Map<string, ConfigError>()
  makeKinds(maker, definitions, (kind, error) => unusable.set(kind, error))
  await maker.close()
  return unusable
}

/** Parts that only the project itself exchanges: behaviours of its own in the bench, shorter times in tests, no BullMQ for the bench's upper bound. */
export interface InternalNodeOptions extends Omit<StartNodeOptions, 'workers' | 'pools'> {
  readonly kinds: readonly Kind[]
  readonly policy?: Partial<Policy>
  /** "in-process": this node alone gets the wake-ups, without BullMQ. */
  readonly wakeups?: 'bullmq' | 'in-process'
  /** Called with the waker of a node that gets its wake-ups in-process, so that a client in this process can wake it. */
  readonly onWaker?: (waker: Waker) => void
  /** Wraps the store that turns see, to watch what they ask of it. */
  readonly aroundTurns?: (turns: TurnStore) => TurnStore
  /** A thread tells what ends or blocks the node. The bench and most tests have none. */
  readonly isWatched?: boolean
  /** What telemetry has counted, for the page of metrics. */
  readonly counted?: MetricSet | undefined
  /** When the node has stopped, also because it could not start. */
  readonly onStopped?: () => Promise<void>
}

export async function startInternalNode(options: InternalNodeOptions): Promise<TroupeNode> {
  const redisUrl = options.redisUrl ?? defaultRedisUrl
  const { namespace = defaultNamespace, deadlineMs = 5_000 } = options
  // No call of a node waits longer: what it gave up while Redis was away is not sent when Redis is back.
  const patienceMs = Math.max(deadlineMs, options.policy?.leaseMs ?? defaultPolicy.leaseMs)
  const connections = await Connections.open(redisUrl, { deadlineMs, patienceMs })
  try {
    const partitions = await checkNamespace(connections, namespace, options.partitions, deadlineMs)
    const places = new Places(connections, namespace, partitions, toWorkerLog(options.logger))
    const policy = await policyOf(options, places.first, namespace, deadlineMs)
    return await startParts(partsOf({ ...options, policy, patienceMs }, places, connections), connections, options)
  } catch (error) {
    connections.end()
    throw error
  }
}

async function policyOf(
  { policy: given, drainMs, retentionMs }: InternalNodeOptions,
  { redis }: OpenPlace,
  namespace: string,
  deadlineMs: number,
): Promise<Policy> {
  const policy = { ...defaultPolicy, ...given, ...(drainMs === undefined ? {} : { drainMs }) }
  const agreeing = () => agreeOnRetention(redis, namespace, retentionMs)
  const agreed = await guarded('agreeing on the retention', agreeing, deadlineMs)
  return { ...policy, retentionMs: agreed ?? policy.retentionMs }
}

function partsOf(
  options: InternalNodeOptions & Pick<Parts, 'policy' | 'patienceMs'>,
  places: Places,
  connections: Connections,
): Parts {
  const { namespace = defaultNamespace, policy, patienceMs } = options
  const kinds = new Map(options.kinds.map((kind) => [kind.name, kind]))
  // Open before the first note: what is published before that is lost.
  places.map(({ keys }) => connections.at(keys.tag, 'lossy'))
  const byPool = Map.groupBy(kinds.values(), (kind) => kind.pool)
  return {
    id: `n-${randomBytes(6).toString('hex')}`,
    namespace,
    policy,
    patienceMs,
    log: toWorkerLog(options.logger),
    live: new RedisLivePublisher((channel) => connections.at(channel, 'lossy'), namespace),
    places,
    kinds,
    kindsByPool: new Map([...byPool].map(([pool, of]) => [pool, of.map((kind) => kind.name)])),
    concurrency: options.concurrency ?? policy.slots,
    permissions: options.permissions ? checkCeiling(options.permissions) : null,
    signs: (options.webhooks?.secrets ?? []).length > 0,
    aroundTurns: options.aroundTurns ?? ((turns) => turns),
    telemetry: options.telemetry ?? noTelemetry,
  }
}

async function startParts(parts: Parts, connections: Connections, options: InternalNodeOptions): Promise<TroupeNode> {
  const { places, policy, patienceMs, log } = parts
  const queues = places.map((place) => ({ ...place, connection: connections.at(place.keys.tag, 'queue') }))
  const isAlone = options.wakeups === 'in-process'
  const waker = isAlone ? new InProcessWaker() : new BullWaker(queues, log)
  const how = { webhooks: options.webhooks, log, deadlineMs: policy.leaseMs }
  const own = (tag: string) => connections.at(tag, 'queue')
  const told = isAlone ? null : telling(places, { own, lend: (prefix) => connections.lendQueue(prefix) }, how)
  const stores = storesOf(parts, (partition) => node.carry(partition))
  const growth = growthOf(parts, connections, async (from) => {
    node.open(stores.slice(from))
    await node.start()
    await hear(node.started)
  })
  const node = nodeOf(parts, stores, { waker, tell: told?.tell, onRegister: () => void growth.look() })
  let watchdog: Watchdog | undefined
  const started = new RunningNode(node, [...parts.kinds.keys()], async () => {
    if (waker instanceof BullWaker) await waker.stop()
    await told?.stop()
    await watchdog?.stop()
    connections.end()
    await options.onStopped?.()
  })
  const hear = hearing(parts, connections, node, async (from) => {
    if (!(waker instanceof BullWaker)) return
    const listening = { queues: queues.slice(from), waker, learn: () => growth.look() }
    const ready = started.listen(
      listenersOf(parts, listening, (channel) => connections.at(channel, 'subscriber'), node),
    )
    await guarded('listening for wake-ups', () => ready, patienceMs)
  })
  try {
    if (waker instanceof InProcessWaker) waker.onWake((partition, wakeup) => node.wake(partition, wakeup))
    if (options.isWatched) watchdog = watchdogOf(parts, node, options)
    await node.start()
    if (waker instanceof InProcessWaker) options.onWaker?.(waker)
    const { metrics, counted } = options
    if (metrics && counted)
      started.servesMetrics(await openMetricsServer(metrics, () => metricsOf(parts, connections, node, counted)))
    await hear(node.started)
    await started.listen([growth])
    return started
  } catch (error) {
    // The parts that have begun would go on claiming workers.
    await started.stop({ force: true })
    throw error
  }
}

function metricsOf(parts: Parts, redis: Connections, node: RuntimeNode, counted: MetricSet): Promise<string> {
  const { places, policy, concurrency } = parts
  const stores = places.all.map(({ redis, keys, partition }) =>
    guardedReads(new InspectStore(redis, keys, partition), policy.leaseMs),
  )
  const own = { troupe_slots: concurrency, troupe_slots_used: node.turnsRunning }
  return metricsPage(() => namespaceFacts(stores, redis, policy.leaseMs), counted, own)
}

function watchdogOf(parts: Parts, node: RuntimeNode, options: InternalNodeOptions): Watchdog {
  const { id: nodeId, namespace, policy, places } = parts
  const { redisUrl = defaultRedisUrl, endIfBlocked = true, logger } = options
  const { level } = (logger ?? {}) as { level?: unknown }
  // The log of a service is JSON; a log of lines, and the console, have no level of their own.
  const isJson = typeof level === 'string' && level !== 'silent'
  const turns = () => node.heldTurns()
  return new Watchdog({
    nodeId,
    redisUrl,
    namespace,
    places: places.all,
    policy,
    isJson,
    endIfBlocked,
    currentCall: currentUserCall,
    turns,
    onThreadLost: ({ message }) => toWorkerLog(logger).warn(withoutWatchdog, { error: message }),
  })
}

const withoutWatchdog =
  'this node has no watchdog: code that blocks it for long does not end it, and the work of a node that dies waits for its leases. The watchdog is a file of troupe: leave troupe out of a bundle (external)'
