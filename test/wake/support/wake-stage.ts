/** Two partitions of a namespace of its own, with a waker; listeners answer wake-ups as the test says. Everything ends with the test. */
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { afterEach, beforeEach, inject } from 'vitest'
import type { FirstClaim, Waking } from '../../../src/core/ports/wake.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { BullWaker } from '../../../src/wake/bull-waker.ts'
import { WakeupListener } from '../../../src/wake/wakeup-listener.ts'
import type { QueuePlace } from '../../../src/wake/wakeup-queue.ts'
import { newNamespace } from '../../support/namespace.ts'

export class WakeStage {
  connection!: Redis
  places: readonly QueuePlace[] = []
  waker!: BullWaker
  /** Warnings, with their fields. */
  warned: unknown[] = []
  readonly log = { debug() {}, warn: (what: string, fields?: object) => void this.warned.push([what, fields]) }
  readonly #queues: Queue[] = []
  readonly #listeners: WakeupListener[] = []

  /** For all tests of a file. */
  static forEach(): WakeStage {
    const stage = new WakeStage()
    beforeEach(() => stage.#open())
    afterEach(() => stage.#close())
    return stage
  }

  queue(pool = 'default', partition = 0): Queue {
    const prefix = this.places[partition]?.prefix as string
    const queue = new Queue(`wakeup-${pool}`, { connection: this.connection, prefix })
    this.#queues.push(queue)
    return queue
  }

  /** A node as far as this queue is concerned: `onWake` gets the id of each wake-up. */
  async listen(onWake: (id: string) => Waking, { pool = 'default', slots = 5 } = {}): Promise<WakeupListener> {
    const listener = new WakeupListener({
      place: this.places[0] as QueuePlace,
      pool,
      slots,
      onWake: (_, wakeup) => onWake(wakeup.id),
      waker: this.waker,
      log: this.log,
    })
    this.#listeners.push(listener)
    await listener.ready()
    return listener
  }

  /** How many jobs were ever added. */
  async added(queue: Queue): Promise<number> {
    return Number((await this.connection.get(queue.toKey('id'))) ?? 0)
  }

  /** Jobs that wait or are held. */
  jobs(queue: Queue): Promise<number> {
    return queue.getJobCountByTypes('wait', 'active')
  }

  #open(): void {
    this.connection = openRedis(inject('redisUrl'))
    const namespace = newNamespace()
    const { connection } = this
    this.places = [0, 1].map((partition) => ({ partition, prefix: `{${namespace}.${partition}}:q`, connection }))
    this.warned = []
    this.waker = new BullWaker(this.places, this.log)
  }

  async #close(): Promise<void> {
    await this.waker.stop()
    await Promise.all(this.#listeners.splice(0).map((listener) => listener.stop()))
    await Promise.all(this.#queues.splice(0).map((queue) => queue.close()))
    this.connection.disconnect()
  }
}

/** A slot that finds an empty queue. */
export function done(id: string, until: Promise<unknown> = Promise.resolve()): Waking {
  return { firstClaim: Promise.resolve({ wakeup: id, isUnfit: false }), end: until.then(() => 'done' as const) }
}

/** A slot that can run nothing of what is queued. */
export function unfit(id: string): Waking {
  return { firstClaim: Promise.resolve({ wakeup: id, isUnfit: true }), end: Promise.resolve('unfit') }
}

/** No slot is free; later one comes, or none. */
export function full(slotComes: Promise<FirstClaim | null>): Waking {
  return { firstClaim: slotComes, end: null }
}
