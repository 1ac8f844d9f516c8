/**
 * Duty: puts store, queue and runtime together: `startNode`. Nothing else knows all three.
 * C1 A node that has started is registered, its bells are listened to, and it sweeps. C2 `stop` leaves nothing running.
 */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { openSubmission } from './client/submission.ts'
import { defaultNamespace, defaultRedisUrl } from './config.ts'
import type { WorkerDefinition } from './core/define-worker.ts'
import { ConfigError } from './core/errors.ts'
import { policy as defaultPolicy, type Policy } from './core/policy.ts'
import type { Bell, BellRinger } from './core/ports.ts'
import { type Logger, silentLogger, toWorkerLog } from './log.ts'
import { BullBellListener, BullBellRinger, type QueuePlace } from './queue/bells.ts'
import { BullSubmissionListener } from './queue/submissions.ts'
import { handlerBehaviour } from './runtime/handler.ts'
import { defaultPool, type Kind } from './runtime/kind.ts'
import { RuntimeNode } from './runtime/node.ts'
import { loadWorkers } from './runtime/worker-loader.ts'
import { partitionKeys, tagOf } from './store/keys.ts'
import { awaitRedis, checkRedis, openRedis, type Redis } from './store/redis.ts'
import { ScriptCaller } from './store/script.ts'
import { RedisTurnStore } from './store/turn-store.ts'
import { RedisUpkeepStore } from './store/upkeep-store.ts'

export interface StartNodeOptions {
  readonly redisUrl?: string
  readonly namespace?: string
  /** Refused when the namespace was set up with another number. */
  readonly partitions?: number
  /** Folder of worker files, or definitions by kind. */
  readonly workers: string | ReadonlyMap<string, WorkerDefinition> | Readonly<Record<string, WorkerDefinition>>
  /** Host only the kinds of these pools. Default: all. */
  readonly pools?: readonly string[]
  /** Turns at once. Default 50. */
  readonly concurrency?: number
  readonly logger?: Logger
  /** How long to wait for Redis at the start. Default 5 s. */
  readonly deadlineMs?: number
}

export interface TroupeNode extends AsyncDisposable {
  readonly id: string
  readonly kinds: readonly string[]
  /** Turns running now. */
  readonly busy: number
  /** Drains: turns end at their next step, at the latest after the drain time (30 s); `force` gives them back at once. Safe to call twice. */
  stop(options?: { force?: boolean }): Promise<void>
}

/** Starts a node in this process. Throws a ConfigError or a TransientError (`store_unavailable`) with one clear sentence. */
export async function startNode(options: StartNodeOptions): Promise<TroupeNode> {
  const definitions = typeof options.workers === 'string' ? await loadWorkers(options.workers) : options.workers
  const entries = definitions instanceof Map ? [...definitions] : Object.entries(definitions)
  const kinds = entries.map(([name, definition]) => handlerKind(name, definition))
  const hosted = kinds.filter((kind) => options.pools === undefined || options.pools.includes(kind.pool))
  if (hosted.length === 0) throw new ConfigError(noKinds(options, kinds))
  return startInternalNode({ ...options, kinds: hosted })
}

/** Parts that only the project itself exchanges: behaviours of its own in the bench, shorter times in tests, no BullMQ for the bound. */
export interface InternalNodeOptions extends Omit<StartNodeOptions, 'workers' | 'pools'> {
  readonly kinds: readonly Kind[]
  readonly policy?: Partial<Policy>
  /** "in-process": bells are answered by this node alone, without BullMQ. */
  readonly bells?: 'bullmq' | 'in-process'
  /** Told of each node that answers bells in-process, so that a client in this process can ring it. */
  readonly onRinger?: (ringer: BellRinger) => void
}

export async function startInternalNode(options: InternalNodeOptions): Promise<TroupeNode> {
  const redisUrl = options.redisUrl ?? defaultRedisUrl
  const namespace = options.namespace ?? defaultNamespace
  const policy: Policy = { ...defaultPolicy, ...options.policy }
  const log = toWorkerLog(options.logger ?? silentLogger())
  const connections: Redis[] = []
  const open = (): Redis => {
    const redis = openRedis(redisUrl)
    connections.push(redis)
    return redis
  }
  const closeAll = () => {
    for (const redis of connections) redis.disconnect()
  }
  try {
    const redis = open()
    await awaitRedis(redis, redisUrl, options.deadlineMs ?? 5_000)
    const partitions = await checkRedis(redis, namespace, options.partitions)
    const places = Array.from({ length: partitions }, (_, partition) => {
      const keys = partitionKeys(tagOf(namespace, partition))
      return { partition, keys, prefix: keys.queuePrefix }
    })
    const id = `n-${randomBytes(6).toString('hex')}`
    const kinds = new Map(options.kinds.map((kind) => [kind.name, kind]))
    const byPool = new Map(
      [...Map.groupBy(kinds.values(), (kind) => kind.pool)].map(([pool, of]) => [pool, of.map((kind) => kind.name)]),
    )
    const caller = new ScriptCaller(redis)
    const stores = places.map(({ partition, keys }) => ({
      turns: new RedisTurnStore({ redis, caller, keys, partition, nodeId: id, kinds: byPool, policy }),
      upkeep: new RedisUpkeepStore({
        redis,
        caller,
        keys,
        partition,
        nodeId: id,
        nodeFacts: nodeFacts([...kinds.keys()]),
        policy,
      }),
    }))
    const inProcess = options.bells === 'in-process' ? new InProcessRinger() : null
    const queueConnection = inProcess ? null : open()
    const bull = queueConnection && new BullBellRinger(queueConnection, places, log)
    const ringer = (inProcess ?? bull) as BellRinger
    const node = new RuntimeNode({
      id,
      kinds,
      concurrency: options.concurrency ?? policy.slots,
      policy,
      stores,
      ringer,
      log,
    })
    inProcess?.attach(node)
    await node.start()
    if (inProcess) options.onRinger?.(inProcess)
    const queue = queueConnection
      ? await listen(
          queueConnection,
          places,
          [...byPool.keys()],
          node,
          options,
          log,
          caller,
          redis,
          policy,
          bull as BullBellRinger,
        )
      : []
    const hints = await subscribeHints(open(), places, node)
    return new ComposedNode(
      node,
      [...kinds.keys()],
      async () => {
        await Promise.all(queue.map((listener) => listener.stop()))
      },
      async () => {
        await bull?.stop()
        hints.disconnect()
        closeAll()
      },
    )
  } catch (error) {
    closeAll()
    throw error
  }
}

export function handlerKind(name: string, definition: WorkerDefinition): Kind {
  const { pool, description } = definition as { pool?: string; description?: string }
  return {
    name,
    pool: pool ?? defaultPool,
    description: description ?? '',
    definition,
    behaviour: handlerBehaviour(definition),
  }
}

type Place = QueuePlace & { readonly keys: ReturnType<typeof partitionKeys> }

async function listen(
  connection: Redis,
  places: readonly Place[],
  pools: readonly string[],
  node: RuntimeNode,
  options: InternalNodeOptions,
  log: ReturnType<typeof toWorkerLog>,
  caller: ScriptCaller,
  redis: Redis,
  policy: Policy,
  ringer: BullBellRinger,
): Promise<{ ready(): Promise<unknown>; stop(): Promise<void> }[]> {
  const slots = options.concurrency ?? policy.slots
  const listeners: { ready(): Promise<unknown>; stop(): Promise<void> }[] = places.flatMap((place) =>
    pools.map(
      (pool) => new BullBellListener(connection, place, pool, slots, (bell) => node.answer(place.partition, bell), log),
    ),
  )
  const submit = openSubmission({
    redis,
    caller,
    namespace: options.namespace ?? defaultNamespace,
    partitions: places.length,
    ringer,
    policy,
  })
  listeners.push(new BullSubmissionListener(connection, places[0] as Place, submit, log))
  await Promise.all(listeners.map((listener) => listener.ready()))
  return listeners
}

async function subscribeHints(redis: Redis, places: readonly Place[], node: RuntimeNode): Promise<Redis> {
  redis.on('message', (channel: string, sessionId: string) => {
    const place = places.find(({ keys }) => keys.hints === channel)
    if (place) void node.hint(place.partition, sessionId)
  })
  await redis.subscribe(...places.map(({ keys }) => keys.hints))
  return redis
}

function nodeFacts(kinds: readonly string[]): Record<string, unknown> {
  return { pid: process.pid, host: hostname(), startedAt: Date.now(), kinds }
}

function noKinds(options: StartNodeOptions, kinds: readonly Kind[]): string {
  if (kinds.length > 0)
    return `no worker kind is in ${options.pools?.join(', ')}: the pools are ${[...new Set(kinds.map((kind) => kind.pool))].join(', ')}.`
  const where =
    typeof options.workers === 'string'
      ? `the folder ${options.workers} holds no worker files`
      : 'no workers were given'
  return `${where}: a worker file has \`export default defineWorker({ … })\`.`
}

/** Rings the one node of this process, without a queue. */
class InProcessRinger implements BellRinger {
  #node: RuntimeNode | undefined

  attach(node: RuntimeNode): void {
    this.#node = node
  }

  ring(partition: number, bells: readonly Bell[]): void {
    for (const bell of bells) void this.#node?.answer(partition, bell)
  }
}

class ComposedNode implements TroupeNode {
  readonly kinds: readonly string[]
  readonly #node: RuntimeNode
  readonly #stopListening: () => Promise<void>
  readonly #close: () => Promise<void>
  #stopping: Promise<void> | undefined

  constructor(
    node: RuntimeNode,
    kinds: readonly string[],
    stopListening: () => Promise<void>,
    close: () => Promise<void>,
  ) {
    this.#node = node
    this.kinds = kinds
    this.#stopListening = stopListening
    this.#close = close
  }

  get id(): string {
    return this.#node.id
  }

  get busy(): number {
    return this.#node.turnsRunning
  }

  stop(options: { force?: boolean } = {}): Promise<void> {
    if (this.#stopping && options.force) void this.#node.stop({ force: true })
    this.#stopping ??= this.#stop(options)
    return this.#stopping
  }

  async #stop(options: { force?: boolean }): Promise<void> {
    const draining = this.#node.stop(options)
    await this.#stopListening()
    await draining
    await this.#close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
