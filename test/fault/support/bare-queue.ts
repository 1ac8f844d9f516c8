/**
 * A bare BullMQ queue, with nothing of troupe, on a Redis of its own: what BullMQ does by itself is tried on it. All that was made by
 * it is closed when it is disposed of.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type Processor, Queue, Worker, type WorkerOptions } from 'bullmq'
import { Redis } from 'ioredis'
import type { BareWorkerOrder } from '../../programs/bullmq-worker.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

type Settings = Omit<WorkerOptions, 'connection'>

const name = 'bare'
const program = new URL('../../programs/bullmq-worker.ts', import.meta.url)

export interface BareWorker {
  readonly worker: Worker
  /** Its own connection; that on which it blocks is another. */
  readonly connection: Redis
  /** The errors that it emitted. */
  readonly errors: string[]
}

export interface BareProcess {
  /** Ids of the jobs it took. */
  readonly took: string[]
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
}

export class BareQueue implements AsyncDisposable {
  readonly server: RedisServer
  readonly redis: Redis
  readonly queue: Queue
  readonly #connections: Redis[] = []
  readonly #workers: Worker[] = []
  readonly #children: ChildProcess[] = []

  private constructor(server: RedisServer) {
    this.server = server
    this.redis = this.#connect(server.url)
    this.queue = new Queue(name, { connection: this.#connect(server.url) })
    this.queue.on('error', () => {})
  }

  static async open(): Promise<BareQueue> {
    return new BareQueue(await RedisServer.start({ durability: 'none' }))
  }

  /** Adds jobs in this order; each is named by its id. */
  async add(...ids: string[]): Promise<void> {
    await this.queue.addBulk(ids.map((id) => ({ name: 'job', data: {}, opts: { jobId: id } })))
  }

  /** A worker in this process, on its way to Redis through `url`; without a processor it does what it is told by hand. */
  worker(processor: Processor | null, settings: Settings, url = this.server.url): BareWorker {
    const connection = this.#connect(url)
    const worker = new Worker(name, processor, { ...settings, connection })
    const errors: string[] = []
    worker.on('error', ({ message }) => errors.push(message))
    this.#workers.push(worker)
    return { worker, connection, errors }
  }

  /** A worker in a process of its own, that keeps what it takes. */
  process(options: Settings): BareProcess {
    const order: BareWorkerOrder = { redisUrl: this.server.url, queue: name, options }
    const child = fork(program, [JSON.stringify(order)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#children.push(child)
    const took: string[] = []
    child.on('message', (id: string) => took.push(id))
    return { took, kill: () => end(child) }
  }

  /** One look for stalled jobs, by hand: as if the interval had passed. Its worker must not look by itself. */
  async lookForStalled({ worker }: BareWorker): Promise<void> {
    const looked = this.queue.toKey('stalled-check')
    await this.redis.del(looked)
    await worker.startStalledCheckTimer()
    await waitUntil('the look is over', () => this.redis.exists(looked))
  }

  /** How many scripts this Redis has run. */
  async scriptsRun(): Promise<number> {
    const calls = (await this.redis.info('commandstats')).matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)
    return [...calls].reduce((sum, [, count]) => sum + Number(count), 0)
  }

  /** Ids of the jobs in a list, those that are taken first at the end. */
  list(state: 'active' | 'wait'): Promise<string[]> {
    return this.redis.lrange(this.queue.toKey(state), 0, -1)
  }

  async isLocked(id: string): Promise<boolean> {
    return (await this.redis.exists(`${this.queue.toKey(id)}:lock`)) === 1
  }

  /** How often a job was taken back from a worker that seemed dead. */
  async stalls(id: string): Promise<number> {
    return Number((await this.redis.hget(this.queue.toKey(id), 'stc')) ?? 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map(end))
    await Promise.all(this.#workers.map((worker) => worker.close(true)))
    await this.queue.close()
    for (const connection of this.#connections) connection.disconnect()
    await this.server[Symbol.asyncDispose]()
  }

  #connect(url: string): Redis {
    const connection = new Redis(url, { maxRetriesPerRequest: null })
    connection.on('error', () => {})
    this.#connections.push(connection)
    return connection
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
