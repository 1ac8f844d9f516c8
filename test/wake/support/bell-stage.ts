/** What each test of bells begins with: a ringer for two partitions of a namespace of its own. Ringer, listeners and queues end with the test. */
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { afterEach, beforeEach, inject } from 'vitest'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { type BellAnswerer, BullBellListener, BullBellRinger, type QueuePlace } from '../../../src/wake/bells.ts'
import { newNamespace } from '../../support/namespace.ts'

export class BellStage {
  connection!: Redis
  places: readonly QueuePlace[] = []
  ringer!: BullBellRinger
  /** Warnings, with their fields. */
  told: unknown[] = []
  readonly log = { debug() {}, warn: (what: string, fields?: object) => void this.told.push([what, fields]) }
  readonly #queues: Queue[] = []
  readonly #listeners: BullBellListener[] = []

  /** For all tests of a file. */
  static forEach(): BellStage {
    const stage = new BellStage()
    beforeEach(() => stage.#open())
    afterEach(() => stage.#close())
    return stage
  }

  queueOf(pool: string, partition = 0): Queue {
    const queue = new Queue(`bell-${pool}`, {
      connection: this.connection,
      prefix: this.places[partition]?.prefix ?? '',
    })
    this.#queues.push(queue)
    return queue
  }

  async listen(pool: string, answerer: BellAnswerer, { partition = 0, slots = 5 } = {}): Promise<BullBellListener> {
    const place = this.places[partition] as QueuePlace
    const listener = new BullBellListener(this.connection, place, pool, slots, answerer, this.ringer, this.log)
    this.#listeners.push(listener)
    await listener.ready()
    return listener
  }

  #open(): void {
    this.connection = openRedis(inject('redisUrl'))
    const namespace = newNamespace()
    this.places = [0, 1].map((partition) => ({ partition, prefix: `{${namespace}.${partition}}:q` }))
    this.told = []
    this.ringer = new BullBellRinger(this.connection, this.places, this.log)
  }

  async #close(): Promise<void> {
    await this.ringer.stop()
    await Promise.all(this.#listeners.splice(0).map((listener) => listener.stop()))
    await Promise.all(this.#queues.splice(0).map((queue) => queue.close()))
    this.connection.disconnect()
  }
}

/** Bells that came to full nodes and wait for others. */
export async function rungAgain(queue: Queue): Promise<unknown[]> {
  return (await queue.getWaiting()).map(({ data }) => data as { full?: number }).filter(({ full = 0 }) => full > 0)
}
