/**
 * Duty: the connections of a node or a client to the servers that have its keys: one Redis, or a cluster. Closing this closes all of them.
 * CONNECTIONS-1 In a cluster each partition has connections of its own, since each follows one slot. On a single Redis all partitions share them.
 * CONNECTIONS-2 Whether the address is that of a cluster is what its server says, never what the address looks like.
 */
import { ConfigError } from '../../core/errors.ts'
import { otherServer, redisPlace, safeUrl, serversOf } from '../../core/redis-url.ts'
import { ClusterMap, nameOf, type Range, type Server } from './connector/cluster-map.ts'
import { followSlot } from './connector/slot-connector.ts'
import { guarded } from './guarded.ts'
import { awaitRedis, closeRedis, endRedis, openLossyRedis, openRedis, type Redis, withDeadline } from './redis.ts'
import { slotOf } from './slot.ts'

/** What a connection is for, where one connection for all would be wrong: BullMQ's commands, pub/sub, what may be lost. */
type Purpose = 'commands' | 'queue' | 'subscriber' | 'lossy'

/** A server that is asked may take long for its answer, or be away. */
const askedMsMax = 60_000

export interface ConnectionsOptions {
  /** How long the Redis may take to answer. */
  readonly deadlineMs: number
  /** How long anybody waits for a command. */
  readonly patienceMs?: number | undefined
}

export class Connections {
  readonly #url: string
  readonly #patienceMs: number | undefined
  readonly #map: ClusterMap | null
  readonly #opened = new Set<Redis>()
  /** By purpose, and in a cluster by slot. */
  readonly #shared = new Map<string, Redis>()

  private constructor(url: string, map: ClusterMap | null, patienceMs: number | undefined) {
    this.#url = url
    this.#map = map
    this.#patienceMs = patienceMs
  }

  /** Resolves when the Redis answers. Throws a ConfigError or a TransientError that names the address. */
  static async open(url: string, { deadlineMs, patienceMs }: ConnectionsOptions): Promise<Connections> {
    const first = await openFirst(url, deadlineMs, patienceMs)
    try {
      const asking = () => first.info('cluster')
      const isCluster = /^cluster_enabled:1/m.test(
        await guarded('asking whether this is a cluster', asking, deadlineMs),
      )
      if (isCluster) refuseOtherThanServers(url)
      else if (serversOf(url).length > 1) throw noCluster(url)
      const connections = new Connections(url, isCluster ? new ClusterMap(url) : null, patienceMs)
      if (isCluster) endRedis(first)
      else connections.#share('commands', '', first)
      return connections
    } catch (error) {
      endRedis(first)
      throw error
    }
  }

  get isCluster(): boolean {
    return this.#map !== null
  }

  /** Which server of the cluster has which slots; null if there is no cluster. */
  async ranges(): Promise<readonly Range[] | null> {
    return this.#map === null ? null : this.#map.ranges()
  }

  /** What each server that holds keys answers: in a cluster, each of its primaries. */
  async each<T>(ask: (redis: Redis) => Promise<T>): Promise<T[]> {
    const ranges = await this.ranges()
    if (ranges === null) return [await ask(this.at(''))]
    const primaries = new Map(ranges.map((range) => [nameOf(range), range])).values()
    return Promise.all([...primaries].map((one) => this.asked(one, ask)))
  }

  /** What one server of the cluster answers, over a connection that is ended afterwards, or when the time is over. */
  async asked<T>({ host, port }: Server, ask: (redis: Redis) => Promise<T>, msMax = askedMsMax): Promise<T> {
    const redis = openRedis(otherServer(this.#url, host, port), this.#patienceMs)
    // The server may be away, and the caller may have stopped waiting.
    this.#opened.add(redis)
    try {
      return await withDeadline(ask(redis), msMax)
    } finally {
      this.#opened.delete(redis)
      endRedis(redis)
    }
  }

  /** The connection for this purpose to the server that has the key or the channel. */
  at(key: string, purpose: Purpose = 'commands'): Redis {
    return this.#shared.get(this.#nameOf(purpose, key)) ?? this.#share(purpose, key, this.#open(key, purpose))
  }

  /** A connection of its own, for a caller that blocks it. The caller ends it. */
  another(key: string): Redis {
    return openRedis(this.#url, undefined, this.#finding(key))
  }

  /**
   * A connection for BullMQ to keys that somebody else named. On a single Redis it is that of all queues. In a cluster it is ended when it is
   * released: any of the 16 384 slots may be named.
   */
  lendQueue(key: string): { readonly redis: Redis; release(): void } {
    if (this.#map === null) return { redis: this.at(key, 'queue'), release() {} }
    const redis = this.another(key)
    this.#opened.add(redis)
    const release = () => {
      this.#opened.delete(redis)
      endRedis(redis)
    }
    return { redis, release }
  }

  /** Ends all connections. Commands that were sent by then get no answer. */
  end(): void {
    for (const redis of this.#opened) endRedis(redis)
  }

  /** Like `end`; whoever waits, or asks later, gets the error that the client was closed. */
  close(): void {
    for (const redis of this.#opened) closeRedis(redis)
  }

  #open(key: string, purpose: Purpose): Redis {
    const finding = this.#finding(key)
    if (purpose === 'lossy') return openLossyRedis(this.#url, finding)
    return openRedis(this.#url, purpose === 'commands' ? this.#patienceMs : undefined, finding)
  }

  #finding(key: string) {
    return this.#map === null ? undefined : followSlot(this.#map, slotOf(key))
  }

  #share(purpose: Purpose, key: string, redis: Redis): Redis {
    this.#shared.set(this.#nameOf(purpose, key), redis)
    this.#opened.add(redis)
    return redis
  }

  #nameOf(purpose: Purpose, key: string): string {
    return this.#map === null ? purpose : `${purpose} ${slotOf(key)}`
  }
}

/** Opens a connection to the address; if it names several servers, to the first of them that answers. */
async function openFirst(url: string, deadlineMs: number, patienceMs: number | undefined): Promise<Redis> {
  const servers = serversOf(url)
  if (servers.length === 1) return answering(url, url, deadlineMs, patienceMs)
  const each = servers.map((server) => answering(server, url, deadlineMs, patienceMs))
  const first = await Promise.any(each).catch(({ errors }: AggregateError) => {
    throw errors[0]
  })
  for (const other of each) {
    other.then(
      (redis) => redis !== first && endRedis(redis),
      () => {},
    )
  }
  return first
}

async function answering(
  server: string,
  url: string,
  deadlineMs: number,
  patienceMs: number | undefined,
): Promise<Redis> {
  const redis = openRedis(server, patienceMs)
  try {
    await awaitRedis(redis, url, deadlineMs)
    return redis
  } catch (error) {
    endRedis(redis)
    throw error
  }
}

function refuseOtherThanServers(url: string): void {
  if (redisPlace(url).sentinels !== undefined || !/^(?:rediss?:)?\/\/[^/?#]/.test(url)) {
    throw new ConfigError(
      `Redis at ${safeUrl(url)} is a server of a cluster: name some of the cluster's servers by host and port, like redis://host1:7000,host2:7000.`,
    )
  }
}

function noCluster(url: string): ConfigError {
  return new ConfigError(
    `${safeUrl(url)} names several servers, and the one that answered first is no cluster: name that one alone, or its sentinels (redis+sentinel://…).`,
  )
}
