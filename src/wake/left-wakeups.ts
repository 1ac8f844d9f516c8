/**
 * Duty: removes wake-ups of pools that this node does not host, once nobody has taken them for a minute (B-e in wake-ups.ts). Where a pool has no
 * node any more clients go on ringing, a job for each session that they submit, and nobody else would look at its queue.
 */
import type { Redis } from 'ioredis'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { openWakeupQueue, type QueuePlace, queueName, removeOldWakeups, tidyEveryMs } from './wakeups.ts'

export class LeftWakeups {
  readonly #connection: Redis
  readonly #places: readonly QueuePlace[]
  readonly #pools: () => Promise<readonly string[]>
  readonly #log: Pick<WorkerLog, 'debug'>
  readonly #tidying: NodeJS.Timeout

  /** `pools`: those that only other nodes host, or hosted. The connection stays the caller's. */
  constructor(
    connection: Redis,
    places: readonly QueuePlace[],
    pools: () => Promise<readonly string[]>,
    log: Pick<WorkerLog, 'debug'>,
  ) {
    this.#connection = connection
    this.#places = places
    this.#pools = pools
    this.#log = log
    this.#tidying = setInterval(() => void this.runOnce(), tidyEveryMs).unref()
  }

  /** Begins with a look, which nobody waits for: a node may not live for as long as lies between two. */
  async ready(): Promise<void> {
    void this.runOnce()
  }

  /** Does not throw. */
  async runOnce(): Promise<void> {
    const tell = (error: unknown, pool?: string) =>
      this.#log.debug('wake-ups that were left could not be removed', { pool, error: String(error) })
    const pools = await this.#pools().catch((error: unknown) => tell(error))
    for (const pool of pools ?? []) {
      for (const { prefix } of this.#places) await this.#tidy(prefix, pool).catch((error: unknown) => tell(error, pool))
    }
  }

  async #tidy(prefix: string, pool: string): Promise<void> {
    // A plain read: BullMQ tells an event of each look.
    if ((await this.#connection.llen(`${prefix}:${queueName(pool)}:wait`)) === 0) return
    const queue = openWakeupQueue(this.#connection, prefix, pool)
    try {
      await removeOldWakeups(queue)
    } finally {
      await queue.close()
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#tidying)
  }
}
