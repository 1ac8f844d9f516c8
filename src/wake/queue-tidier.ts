/**
 * Duty: removes jobs that nobody will take from the queues of wake-ups.
 * WAKE-7 If somebody paused a queue with a tool of BullMQ, its jobs are removed and the log says it: nobody would ever take them. Published wake-ups
 *     and sweeps do the work then.
 * WAKE-8 Jobs that nobody took for a minute are removed: while all nodes are full, a stale wake-up is replaced every few seconds. This node also looks
 *     at pools that no node hosts any more: clients go on sending wake-ups there.
 * WAKE-10 BullMQ's keys of a queue are removed when no live node hosts its pool and nothing happened in the queue for a day. The next job makes them anew.
 */
import type { Queue } from 'bullmq'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { openQueue, type QueuePlace, queueName } from './wakeup-queue.ts'

/** How often a node looks, and how old a job must be. */
const everyMs = 60_000
const desertedMs = 24 * 3_600_000
/** How many jobs one script of BullMQ removes at most. */
const batch = 1_000

/** A queue as tools of BullMQ name it: `wakeup-<pool>` with this prefix. */
export interface WakeupQueue {
  readonly pool: string
  readonly prefix: string
}

/** The queues that somebody paused. */
export async function readPausedWakeups(
  places: readonly Omit<QueuePlace, 'partition'>[],
  pools: readonly string[],
): Promise<WakeupQueue[]> {
  const queues = pools.flatMap((pool) => places.map((place) => ({ place, pool })))
  const paused = await Promise.all(queues.map(({ place, pool }) => isPaused(place, pool)))
  return queues.filter((_, index) => paused[index]).map(({ pool, place: { prefix } }) => ({ pool, prefix }))
}

async function isPaused({ connection, prefix }: Omit<QueuePlace, 'partition'>, pool: string): Promise<boolean> {
  return (await connection.hexists(`${prefix}:${queueName(pool)}:meta`, 'paused')) === 1
}

export interface TidierOptions {
  readonly places: readonly QueuePlace[]
  /** The pools of this node. */
  readonly pools: readonly string[]
  /** Pools that only other nodes host, or hosted. */
  readonly otherPools: () => Promise<readonly string[]>
  /** Does no live node host the pool in this partition? */
  readonly isDeserted: (partition: number, pool: string) => Promise<boolean>
  readonly log: Pick<WorkerLog, 'debug' | 'warn'>
}

export class QueueTidier {
  readonly #o: TidierOptions
  readonly #timer: NodeJS.Timeout
  /** The queues of this node that were paused when it last looked. */
  #paused: ReadonlySet<string> = new Set()

  constructor(options: TidierOptions) {
    this.#o = options
    this.#timer = setInterval(() => void this.runOnce(), everyMs).unref()
    // It looks at once, because a node may not live for a minute.
    void this.runOnce()
  }

  /** Does not throw. */
  async runOnce(): Promise<void> {
    const paused = new Set<string>()
    const others = await this.#o.otherPools().catch((error: unknown) => this.#debug(error))
    for (const pool of [...this.#o.pools, ...(others ?? [])]) {
      for (const place of this.#o.places)
        await this.#tidy(place, pool, paused).catch((error: unknown) => this.#debug(error, pool))
    }
    this.#paused = paused
  }

  async #tidy(place: QueuePlace, pool: string, paused: Set<string>): Promise<void> {
    const { pools, log } = this.#o
    const { connection, prefix } = place
    const hasNobody = await isPaused(place, pool)
    if (hasNobody && pools.includes(pool)) {
      const name = `${prefix}:${queueName(pool)}`
      paused.add(name)
      if (!this.#paused.has(name))
        log.warn(
          `the queue ${queueName(pool)} is paused in BullMQ: its jobs are removed, and work may begin a second late`,
          { pool, prefix },
        )
    }
    // These are plain reads: BullMQ's own methods would write an event for each look.
    const isEmpty = (await connection.llen(`${prefix}:${queueName(pool)}:wait`)) === 0
    const mustGo = isEmpty && !pools.includes(pool) && (await this.#isUnused(place, pool))
    if (isEmpty && !mustGo) return
    const queue = openQueue(place, pool)
    try {
      if (mustGo) await queue.obliterate({ force: true })
      else if (hasNobody) await queue.drain()
      else await removeOld(queue)
    } finally {
      await queue.close()
    }
  }

  /** True if BullMQ's keys of the queue can be removed (WAKE-10). */
  async #isUnused({ connection, partition, prefix }: QueuePlace, pool: string): Promise<boolean> {
    const { isDeserted } = this.#o
    const newest = await connection.xrevrange(`${prefix}:${queueName(pool)}:events`, '+', '-', 'COUNT', 1)
    const at = Number(newest[0]?.[0].split('-')[0])
    // A queue without any event was obliterated, or never was.
    return at < Date.now() - desertedMs && (await isDeserted(partition, pool))
  }

  #debug(error: unknown, pool?: string): void {
    this.#o.log.debug('the queues of wake-ups could not be tidied', { pool, error: String(error) })
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

/** More jobs may be old than one script removes, and a job that came back just now may be the last of the queue. */
async function removeOld(queue: Queue): Promise<void> {
  for (let removed = 1; removed > 0; ) removed = (await queue.clean(everyMs, batch, 'wait')).length
}
