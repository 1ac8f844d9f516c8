/**
 * Duty: put the result of a session into a queue of BullMQ that its creator named.
 * RESULT-QUEUE-1 The id of the job follows from the session and its end: as long as the queue keeps the job, it holds each end once, also if a node
 *    died between the job and the note that it was added.
 */
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { ConfigError } from '../core/errors.ts'
import type { Notify } from '../core/worker/notify.ts'
import type { SessionNotice } from './session-notice.ts'

/** How many queues are kept open at most. */
const openMax = 50

export class ResultQueues {
  readonly #connectionAt: (tag: string) => Redis
  readonly #isCluster: boolean
  readonly #queues = new Map<string, Queue>()

  /** `connectionAt`: the connection to the server that has the keys of a prefix. The caller closes it. */
  constructor(connectionAt: (tag: string) => Redis, isCluster: boolean) {
    this.#connectionAt = connectionAt
    this.#isCluster = isCluster
  }

  async add(
    { queue, prefix = 'bull' }: Extract<Notify, { queue: string }>,
    jobId: string,
    notice: SessionNotice,
  ): Promise<void> {
    if (this.#isCluster && !/\{[^}]+\}/.test(prefix))
      throw new ConfigError(
        `it goes into the queue ${queue} with the prefix ${prefix}, whose keys would be in several slots of the cluster: BullMQ needs a prefix with a hash tag, like { queue: "${queue}", prefix: "{${queue}}" }.`,
      )
    await this.#open(queue, prefix).add(notice.type, notice, { jobId })
  }

  #open(name: string, prefix: string): Queue {
    const key = `${prefix}:${name}`
    const known = this.#queues.get(key)
    if (known) return known
    const [oldest] = this.#queues
    if (oldest && this.#queues.size >= openMax) {
      this.#queues.delete(oldest[0])
      void oldest[1].close().catch(() => {})
    }
    const queue = new Queue(name, { connection: this.#connectionAt(prefix), prefix, skipMetasUpdate: true })
    queue.on('error', () => {})
    this.#queues.set(key, queue)
    return queue
  }

  async stop(): Promise<void> {
    await Promise.allSettled([...this.#queues.values()].map((queue) => queue.close()))
  }
}
