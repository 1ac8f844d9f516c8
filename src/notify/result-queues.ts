/**
 * Duty: put the result of a session into a queue of BullMQ that its creator named.
 * RESULT-QUEUE-1 The id of the job follows from the session and its end: as long as the queue keeps the job, it holds each end once, also if a node
 *    died between the job and the note that it was added.
 * RESULT-QUEUE-2 However many queues creators name, few are open, and no connection is kept for one that is not.
 */
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { ConfigError } from '../core/errors.ts'
import type { Notify } from '../core/worker/notify.ts'
import type { SessionNotice } from './session-notice.ts'

/** How many queues are kept open at most. */
const openMost = 50

/** A connection for BullMQ to the server that has the keys of a prefix. Whoever borrowed it releases it. */
export interface LentConnection {
  readonly redis: Redis
  release(): void
}

interface OpenQueue {
  readonly queue: Queue
  readonly prefix: string
  /** How many jobs are being added to it. */
  adding: number
  /** Others have taken its place: it is closed when nothing is being added to it. */
  isOut: boolean
}

export class ResultQueues {
  readonly #lend: (prefix: string) => LentConnection
  readonly #isCluster: boolean
  readonly #openMost: number
  readonly #queues = new Map<string, OpenQueue>()
  /** By prefix, with the number of open queues that use it. */
  readonly #lent = new Map<string, { readonly connection: LentConnection; users: number }>()

  constructor(lend: (prefix: string) => LentConnection, isCluster: boolean, most = openMost) {
    this.#lend = lend
    this.#isCluster = isCluster
    this.#openMost = most
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
    const open = this.#open(queue, prefix)
    open.adding++
    try {
      await open.queue.add(notice.type, notice, { jobId })
    } finally {
      open.adding--
      if (open.isOut) void this.#close(open)
    }
  }

  #open(name: string, prefix: string): OpenQueue {
    const key = `${prefix}:${name}`
    const known = this.#queues.get(key)
    if (known) return known
    const [oldest] = this.#queues
    if (oldest && this.#queues.size >= this.#openMost) {
      this.#queues.delete(oldest[0])
      oldest[1].isOut = true
      void this.#close(oldest[1])
    }
    const connection = this.#borrow(prefix)
    const queue = new Queue(name, { connection, prefix, skipMetasUpdate: true })
    queue.on('error', () => {})
    const open = { queue, prefix, adding: 0, isOut: false }
    this.#queues.set(key, open)
    return open
  }

  async #close({ queue, prefix, adding }: OpenQueue): Promise<void> {
    if (adding > 0) return
    await queue.close().catch(() => {})
    this.#release(prefix)
  }

  #borrow(prefix: string): Redis {
    const lent = this.#lent.get(prefix) ?? { connection: this.#lend(prefix), users: 0 }
    lent.users++
    this.#lent.set(prefix, lent)
    return lent.connection.redis
  }

  #release(prefix: string): void {
    const lent = this.#lent.get(prefix)
    if (lent === undefined || --lent.users > 0) return
    this.#lent.delete(prefix)
    lent.connection.release()
  }

  async stop(): Promise<void> {
    const open = [...this.#queues.values()]
    this.#queues.clear()
    await Promise.all(open.map(async ({ queue }) => queue.close().catch(() => {})))
    for (const { connection } of this.#lent.values()) connection.release()
    this.#lent.clear()
  }
}
