/**
 * A primary, two replicas, and three sentinels that watch over them: all are processes of this test. Which of the servers is the primary
 * is what the sentinels say.
 */
import { Redis } from 'ioredis'
import { waitUntil } from '../time/wait-until.ts'
import { RedisServer } from './redis-server.ts'

const name = 'mymaster'
const promotionMsMax = 60_000
/** A sentinel asks for replicas every ten seconds: one answer may come too late. */
const meetingMsMax = 30_000
/** A replica whose filling broke off is tried again by Redis itself, after up to 60 s (repl-timeout). */
const followingMsMax = 120_000
const loadingMsMax = 60_000

export class SentinelGroup implements AsyncDisposable {
  /** The first began as primary. */
  readonly servers: readonly RedisServer[]
  readonly sentinels: readonly RedisServer[]

  private constructor(servers: readonly RedisServer[], sentinels: readonly RedisServer[]) {
    this.servers = servers
    this.sentinels = sentinels
  }

  static async start(): Promise<SentinelGroup> {
    await using started = new AsyncDisposableStack()
    const keep = async (starting: Promise<RedisServer>) => started.use(await starting)
    // Without this a replica waits five seconds for others before it is filled.
    const settings = ['repl-diskless-sync-delay 0']
    const primary = await keep(RedisServer.start({ settings }))
    const replica = () => keep(RedisServer.start({ settings: [...settings, `replicaof 127.0.0.1 ${primary.port}`] }))
    const servers = [primary, ...(await Promise.all([replica(), replica()]))]
    await untilFollowed(primary)
    const watching = [
      `sentinel monitor ${name} 127.0.0.1 ${primary.port} 2`,
      `sentinel down-after-milliseconds ${name} 1000`,
      `sentinel failover-timeout ${name} 4000`,
    ]
    const sentinel = () => keep(RedisServer.start({ isSentinel: true, settings: watching }))
    const sentinels = await Promise.all([sentinel(), sentinel(), sentinel()])
    const met = 'the sentinels know each other and the replicas'
    for (const one of sentinels) await waitUntil(met, () => knowsAll(one), meetingMsMax)
    started.move()
    return new SentinelGroup(servers, sentinels)
  }

  get url(): string {
    return `redis+sentinel://${this.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${name}`
  }

  /** Tells the sentinels to make another server the primary, though this one is well. */
  async failOver(): Promise<void> {
    const [sentinel] = this.sentinels as [RedisServer]
    await ask(sentinel, (redis) => redis.call('SENTINEL', 'FAILOVER', name))
  }

  /** Resolves with the server that takes over, as soon as it takes writes: most sentinels do not name it yet. */
  takesOverFrom(old: RedisServer): Promise<RedisServer> {
    const takesOver = async () => {
      const roles = await Promise.all(this.servers.map(roleOf))
      return this.servers.find((server, index) => server !== old && roles[index] === 'master')
    }
    return waitUntil('another server takes writes', takesOver, promotionMsMax)
  }

  /** Resolves with the new primary, when most sentinels name another server than this one and it takes writes. */
  promotedAfter(old: RedisServer): Promise<RedisServer> {
    const promoted = async () => {
      const named = await Promise.all(this.sentinels.map((sentinel) => primaryPort(sentinel)))
      const found = this.servers.find(({ port }) => port !== old.port && named.filter((of) => of === port).length > 1)
      return found !== undefined && (await roleOf(found)) === 'master' && found
    }
    return waitUntil('another server is the primary', promoted, promotionMsMax)
  }

  /**
   * Resolves when one server alone calls itself the primary, and all sentinels name it. On a busy machine two of them may promote one server each; it takes
   * them some ten seconds to make one a replica again, and what was written to it since is lost.
   */
  async untilOnePrimary(): Promise<void> {
    const isOne = async () => {
      const roles = await Promise.all(this.servers.map(roleIfThere))
      const primaries = this.servers.filter((_, index) => roles[index] === 'master')
      const named = await Promise.all(this.sentinels.map((sentinel) => primaryPort(sentinel)))
      return primaries.length === 1 && named.every((port) => port === primaries[0]?.port)
    }
    await waitUntil('one server alone is the primary', isOne, promotionMsMax)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.sentinels.map((sentinel) => sentinel[Symbol.asyncDispose]()))
    await Promise.all(this.servers.map((server) => server[Symbol.asyncDispose]()))
  }
}

/** Asks one server, whatever the sentinels think of it; again while it loads its data, as a replica does that is filled anew. */
export async function ask<T>({ url }: RedisServer, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { maxRetriesPerRequest: null, protocol: 2 })
  redis.on('error', () => {})
  try {
    const answered = () =>
      question(redis).then(
        (answer) => ({ answer }),
        (error: Error) => {
          if (error.message.startsWith('LOADING ')) return false as const
          throw error
        },
      )
    const { answer } = await waitUntil('a server has loaded its data', answered, loadingMsMax)
    return answer
  } finally {
    redis.disconnect()
  }
}

export async function roleOf(server: RedisServer): Promise<string> {
  const [role] = await ask(server, (redis) => redis.role())
  return String(role)
}

/** Null: the server does not answer. */
async function roleIfThere({ url }: RedisServer): Promise<string | null> {
  const redis = new Redis(url, { retryStrategy: () => null, connectTimeout: 1_000, commandTimeout: 1_000, protocol: 2 })
  redis.on('error', () => {})
  try {
    const [role] = await redis.role()
    return String(role)
  } catch {
    return null
  } finally {
    redis.disconnect()
  }
}

function untilFollowed(primary: RedisServer): Promise<unknown> {
  const areOnline = async () => {
    const info = await ask(primary, (redis) => redis.info('replication'))
    return info.match(/state=online/g)?.length === 2
  }
  return waitUntil('two replicas follow', areOnline, followingMsMax)
}

async function primaryPort(sentinel: RedisServer): Promise<number> {
  const answer = await ask(sentinel, (redis) => redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name))
  return Number((answer as string[])[1])
}

async function knowsAll(sentinel: RedisServer): Promise<boolean> {
  const words = (await ask(sentinel, (redis) => redis.call('SENTINEL', 'MASTER', name))) as string[]
  const said = (what: string) => words[words.indexOf(what) + 1]
  return said('num-slaves') === '2' && said('num-other-sentinels') === '2'
}
