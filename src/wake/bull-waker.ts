/**
 * Duty: sends wake-ups as BullMQ jobs.
 * WAKE-1 A wake-up that cannot be sent is logged and not sent again: a sweep finds the work.
 * WAKE-9 Wake-ups of one queue that nodes send back at about the same time become one job, which names the others. Else jobs would multiply while
 *    all nodes are full: for each slot that leaves a queue, scripts add wake-ups for the work that it leaves.
 */
import type { Queue } from 'bullmq'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import type { Waker, Wakeup } from '../core/ports/wake.ts'
import { type Delivery, join, openQueue, type QueuePlace, toJobData } from './wakeup-queue.ts'

/**
 * The delay of a job whose wake-up a node has heard over pub/sub: BullMQ's work for the job then does not slow down what the node does for the
 * wake-up (P7). A wake-up that is sent back waits as long: it is joined with others, and by then other nodes than the sender wait for jobs.
 */
const delayMs = 5
/** A process that stops waits at most this long for jobs that are being added. */
const stopMsMax = 1_000

export class BullWaker implements Waker {
  readonly #places: readonly QueuePlace[]
  readonly #log: Pick<WorkerLog, 'warn'>
  /** The queues, by partition and pool, like `#sentBack`. */
  readonly #queues = new Map<string, Queue>()
  readonly #sentBack = new Map<string, { readonly delivery: Delivery; readonly sent: PromiseWithResolvers<void> }>()
  readonly #adding = new Set<Promise<unknown>>()
  readonly #delayed = new Set<() => void>()

  constructor(places: readonly QueuePlace[], log: Pick<WorkerLog, 'warn'>) {
    this.#places = places
    this.#log = log
  }

  wake(partition: number, wakeups: readonly Wakeup[]): void {
    for (const [pool, of] of Map.groupBy(wakeups, (wakeup) => wakeup.pool)) {
      const { published, unheard } = Object.groupBy(of, ({ id }) => (wasPublished(id) ? 'published' : 'unheard'))
      if (unheard) this.#addFirst(partition, pool, unheard)
      if (published) this.#afterDelay(() => this.#addFirst(partition, pool, published))
    }
  }

  /** Sends wake-ups that had no job while another wake-up stood for them. */
  sendOn(partition: number, pool: string, deliveries: readonly Delivery[]): void {
    const jobs = deliveries.map((delivery) => jobOf(delivery))
    this.#add(partition, pool, jobs)
  }

  /**
   * Sends back a wake-up that came to a node which has no slot free, or can run nothing of what is queued (WAKE-3, WAKE-4). Resolves when the job
   * that it was joined to is sent.
   */
  sendBack(partition: number, pool: string, delivery: Delivery): Promise<void> {
    const key = `${partition}/${pool}`
    const earlier = this.#sentBack.get(key)
    const sent = earlier?.sent ?? Promise.withResolvers<void>()
    this.#sentBack.set(key, { delivery: earlier ? join(earlier.delivery, delivery) : delivery, sent })
    if (!earlier) this.#afterDelay(() => this.#sendJoined(partition, pool))
    return sent.promise
  }

  #sendJoined(partition: number, pool: string): void {
    const key = `${partition}/${pool}`
    const joined = this.#sentBack.get(key)
    if (!joined) return
    this.#sentBack.delete(key)
    this.sendOn(partition, pool, [joined.delivery])
    joined.sent.resolve()
  }

  #addFirst(partition: number, pool: string, wakeups: readonly Wakeup[]): void {
    // A script that is sent again answers with the same ids: BullMQ adds each id once.
    this.#add(
      partition,
      pool,
      wakeups.map(({ id }) => jobOf({ id, unfit: 0, others: [] }, { jobId: id })),
    )
  }

  #add(partition: number, pool: string, jobs: readonly ReturnType<typeof jobOf>[]): void {
    const [first, ...more] = jobs
    if (first === undefined) return
    const queue = this.#queue(partition, pool)
    const added = more.length === 0 ? queue.add(first.name, first.data, first.opts) : queue.addBulk([...jobs])
    const done = added.catch((error: unknown) =>
      this.#log.warn('a wake-up could not be sent; a sweep will find the work', { pool, error: String(error) }),
    )
    this.#adding.add(done)
    void done.finally(() => this.#adding.delete(done))
  }

  #afterDelay(send: () => void): void {
    const run = () => {
      clearTimeout(timer)
      this.#delayed.delete(run)
      send()
    }
    const timer = setTimeout(run, delayMs)
    this.#delayed.add(run)
  }

  #queue(partition: number, pool: string): Queue {
    const key = `${partition}/${pool}`
    let queue = this.#queues.get(key)
    if (queue === undefined) {
      queue = openQueue(this.#places.find((place) => place.partition === partition) as QueuePlace, pool)
      this.#queues.set(key, queue)
    }
    return queue
  }

  /** Sends jobs that are delayed, and waits a little for jobs that are being added: a lost wake-up does no harm, a process that hangs does. */
  async stop(): Promise<void> {
    for (const send of this.#delayed) send()
    await Promise.race([
      Promise.allSettled(this.#adding),
      new Promise((resolve) => setTimeout(resolve, stopMsMax).unref()),
    ])
    await Promise.allSettled([...this.#queues.values()].map((queue) => queue.close()))
    this.#queues.clear()
  }
}

/** Scripts begin the id of a wake-up with `p` if a node heard it when they published it (lua/shared/queue/wakeups.lua). */
function wasPublished(id: string): boolean {
  return id.startsWith('p')
}

/** Without a job id BullMQ counts one up: the job that brought the wake-up may still be there under its id. */
function jobOf(delivery: Delivery, { jobId }: { readonly jobId?: string } = {}) {
  const opts = { ...(jobId !== undefined && { jobId }), attempts: 1, removeOnComplete: true, removeOnFail: true }
  return { name: 'wake', data: toJobData(delivery), opts }
}
