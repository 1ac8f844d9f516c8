/** Duty: the longest call of each script in one scene, by the slow log of Redis. Owns: the Redis of a measurement, and the node and client of a scene. */
import { constants, setPriority } from 'node:os'
import { Redis } from 'ioredis'
import { connect, startNode, type Troupe } from 'troupe'
import { type RedisServer, startRedisServer } from '../redis-server.ts'
import { workers } from './kinds.ts'

const boundMs = 10

/** What a scene may use: a client, a connection to Redis beside it, and its place. */
export interface Stage {
  readonly troupe: Troupe
  readonly redis: Redis
  readonly place: { readonly redisUrl: string; readonly namespace: string }
}

type Act = (stage: Stage) => Promise<unknown>
type NodeOptions = Parameters<typeof startNode>[0]

/** One scene by its name. `figure`: what is at its limit there. */
export interface Scene {
  readonly figure: string
  readonly act: Act
  /** What its node has beside the kinds and slots of the others. */
  readonly node?: Partial<Pick<NodeOptions, 'concurrency' | 'workers'>>
  readonly partitions?: number
}

export const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
export const text = (bytes: number) => 'x'.repeat(bytes)

/** Waits until this is true. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await wait(200)
}

/** Lets Redis have the core before others, where this user may: what waits for the core counts as work of Redis. */
async function preferred(redis: Redis): Promise<void> {
  const [, pid] = /process_id:(\d+)/.exec(await redis.info('server')) ?? []
  try {
    setPriority(Number(pid), constants.priority.PRIORITY_HIGHEST)
  } catch {
    // The shortest of several repeats is near the truth.
  }
}

export class Measurement {
  readonly #server: RedisServer
  readonly #redis: Redis
  readonly #repeats: number

  private constructor(server: RedisServer, redis: Redis, repeats: number) {
    this.#server = server
    this.#redis = redis
    this.#repeats = repeats
  }

  static async begin(repeats: number): Promise<Measurement> {
    const server = await startRedisServer(process.env.PATH ?? '')
    const redis = new Redis(server.url)
    await redis.config('SET', 'slowlog-log-slower-than', '1000')
    await redis.config('SET', 'slowlog-max-len', '10000')
    await preferred(redis)
    return new Measurement(server, redis, repeats)
  }

  async end(): Promise<void> {
    this.#redis.disconnect()
    await this.#server.stop()
  }

  /** The longest call of a scene; of several repeats the shortest of these counts, because another process that has the core counts as work of Redis. */
  async print(name: string, scene: Scene): Promise<void> {
    let calls: Record<string, number> | undefined
    for (let repeat = 0; repeat < this.#repeats; repeat++) {
      const found = await this.#longestIn(scene)
      const known: Record<string, number> = calls ?? found
      calls = Object.fromEntries(
        Object.entries(known).map(([script, ms]) => [script, Math.min(ms, found[script] ?? 1)]),
      )
    }
    const over = Object.entries(calls ?? {}).flatMap(([script, ms]) => (ms > boundMs ? [script] : []))
    const figure = `ms of the longest call of each script: ${scene.figure}`
    console.log(JSON.stringify({ figure, scene: name, over, ...calls }))
  }

  async #longestIn({ act, node: options, partitions }: Scene): Promise<Record<string, number>> {
    await this.#redis.flushall()
    await this.#redis.call('SLOWLOG', 'RESET')
    const place = { redisUrl: this.#server.url, namespace: 'scripts', ...(partitions && { partitions }) }
    await using troupe = await connect({ ...place, deadlineMs: 60_000 })
    await using node = await startNode({ ...place, workers, concurrency: 50, ...options })
    void node
    await act({ troupe, redis: this.#redis, place })
    return await this.#longest()
  }

  /** The longest call of each script that took a millisecond or more. */
  async #longest(): Promise<Record<string, number>> {
    const found: Record<string, number> = {}
    for (const entry of (await this.#redis.call('SLOWLOG', 'GET', '-1')) as [number, number, number, string[]][]) {
      const [, , micros, words] = entry
      const [command = '', name = ''] = words
      // Commands within a script are logged as well; BullMQ calls its own by their digests.
      const [, script] = /^fcall$/i.test(command) ? (/^troupe_[0-9a-f]+_(.*)$/.exec(name) ?? []) : []
      if (script === undefined) continue
      found[script] = Math.max(found[script] ?? 0, micros / 1_000)
    }
    return Object.fromEntries(Object.entries(found).toSorted(([, a], [, b]) => b - a))
  }
}
