/** What each test of wake-ups begins with: a ringer for two partitions of a namespace of its own. Ringer, listeners and queues end with the test. */
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { afterEach, beforeEach, inject } from 'vitest'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { BullWaker, BullWakeupListener, type QueuePlace, type WakeupAnswerer } from '../../../src/wake/wakeups.ts'
import { newNamespace } from '../../support/namespace.ts'

export class WakeupStage {
  connection!: Redis
  places: readonly QueuePlace[] = []
  waker!: BullWaker
  /** Warnings, with their fields. */
  told: unknown[] = []
  readonly log = { debug() {}, warn: (what: string, fields?: object) => void this.told.push([what, fields]) }
  readonly #queues: Queue[] = []
  readonly #listeners: BullWakeupListener[] = []

  /** For all tests of a file. */
  static forEach(): WakeupStage {
    const stage = new WakeupStage()
    beforeEach(() => stage.#open())
    afterEach(() => stage.#close())
    return stage
  }

  queueOf(pool: string, partition = 0): Queue {
    const queue = new Queue(`wakeup-${pool}`, {
      connection: this.connection,
      prefix: this.places[partition]?.prefix ?? '',
    })
    this.#queues.push(queue)
    return queue
  }

  async listen(pool: string, answerer: WakeupAnswerer, { partition = 0, slots = 5 } = {}): Promise<BullWakeupListener> {
    const place = this.places[partition] as QueuePlace
    const listener = new BullWakeupListener(this.connection, place, pool, slots, answerer, this.waker, this.log)
    this.#listeners.push(listener)
    await listener.ready()
    return listener
  }

  #open(): void {
    this.connection = openRedis(inject('redisUrl'))
    const namespace = newNamespace()
    this.places = [0, 1].map((partition) => ({ partition, prefix: `{${namespace}.${partition}}:q` }))
    this.told = []
    this.waker = new BullWaker(this.connection, this.places, this.log)
  }

  async #close(): Promise<void> {
    await this.waker.stop()
    await Promise.all(this.#listeners.splice(0).map((listener) => listener.stop()))
    await Promise.all(this.#queues.splice(0).map((queue) => queue.close()))
    this.connection.disconnect()
  }
}

/** Wake-ups that came to full nodes and wait for others. */
export async function rungAgain(queue: Queue): Promise<unknown[]> {
  return (await queue.getWaiting()).map(({ data }) => data as { full?: number }).filter(({ full = 0 }) => full > 0)
}
