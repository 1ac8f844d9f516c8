/**
 * Duty: the one way by which wake-ups come to a node: listens in the queue and on the channel of each of its pools, in every partition, and keeps
 * the queues tidy.
 */
import type { WorkerLog } from '../core/definition/worker-log.ts'
import type { OnWake } from '../core/ports/wake.ts'
import type { BullWaker } from './bull-waker.ts'
import { QueueTidier } from './queue-tidier.ts'
import { WakeupListener } from './wakeup-listener.ts'
import type { QueuePlace } from './wakeup-queue.ts'

export interface NodeWakeupsOptions {
  readonly places: readonly (QueuePlace & {
    /** Where scripts publish wake-ups of this pool to this node. */
    channel(pool: string): string
  })[]
  readonly pools: readonly string[]
  /** Pools that only other nodes host, or hosted. */
  readonly otherPools: () => Promise<readonly string[]>
  /** Does no live node host the pool in this partition? */
  readonly isDeserted: (partition: number, pool: string) => Promise<boolean>
  readonly slots: number
  readonly onWake: OnWake
  readonly waker: BullWaker
  /** Listens on pub/sub channels. Resolves when it listens. */
  readonly hear: (handlers: ReadonlyMap<string, (message: string) => void>) => Promise<void>
  readonly log: Pick<WorkerLog, 'debug' | 'warn'>
}

export class NodeWakeups {
  readonly #o: NodeWakeupsOptions
  /** The listeners, by channel. */
  readonly #listeners: ReadonlyMap<string, WakeupListener>
  readonly #tidier: QueueTidier

  constructor(options: NodeWakeupsOptions) {
    this.#o = options
    const listeners = options.places.flatMap((place) =>
      options.pools.map((pool) => [place.channel(pool), new WakeupListener({ ...options, place, pool })] as const),
    )
    this.#listeners = new Map(listeners)
    this.#tidier = new QueueTidier(options)
  }

  /** Resolves when wake-ups come by both ways. */
  async ready(): Promise<void> {
    await Promise.all([...this.#listeners.values()].map((listener) => listener.ready()))
    const handlers = [...this.#listeners].map(([channel, listener]) => {
      return [channel, (id: string) => listener.onPublished(id)] as const
    })
    await this.#o.hear(new Map(handlers))
  }

  /** Takes no more jobs. A node that drains answers no published wake-up either. */
  async stop(): Promise<void> {
    this.#tidier.stop()
    await Promise.all([...this.#listeners.values()].map((listener) => listener.stop()))
  }
}
