/**
 * Duty: brings the wake-ups of one pool in one partition to this node's slots, over pub/sub and as BullMQ jobs.
 *
 * A wake-up says "a slot of this pool should wake up and claim". A script puts its id into T:wakeups:<pool> when it queues work, and publishes it
 * to one node, which claims at once if it has a slot free. Whoever called the script then adds a BullMQ job with the same id, which comes to any
 * node of the pool. A job whose wake-up was answered over pub/sub before ends without a claim.
 *
 * A wake-up names no worker, so nothing depends on a single one:
 *  - lost (no job was added, BullMQ lost it, the node died): its id goes stale after 2 s, and a sweep wakes a slot for the work;
 *  - doubled: the second slot claims other work, or finds none and sleeps again;
 *  - late or out of order: by then others have run the work, and its claim finds none.
 * Only the claim decides who runs a worker. Delivery decides how soon.
 *
 * WAKE-2 A node answers a wake-up once, whichever way it hears of it first.
 * WAKE-3 A job that comes to a node without a free slot is sent back for other nodes. The node holds the job until one of its slots comes to the
 *     queue, and soon takes no other of that queue until then, so that BullMQ gives those to nodes with free slots. (BullMQ does not know that the
 *     node is full: slots that pub/sub or a sweep woke have no job.)
 * WAKE-4 A job that comes to a node which can run nothing of what is queued is sent back, at most 8 times: nodes of one pool may host different
 *     kinds, and there may be no node now that can run this.
 * WAKE-5 Wake-ups that are sent back together are one job (WAKE-9). When it has brought a slot, the others go on as two jobs: all are answered
 *     soon if slots are free, and they are one job again if not. Each must be answered, for as long as its id is in T:wakeups scripts put no other.
 * WAKE-6 BullMQ's job states, locks and retries decide nothing here.
 */
import { type Job, Worker } from 'bullmq'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import type { FirstClaim, OnWake, Waking } from '../core/ports/wake.ts'
import type { BullWaker } from './bull-waker.ts'
import { RecentIds } from './recent-ids.ts'
import { type Delivery, halve, type QueuePlace, queueName, readDelivery } from './wakeup-queue.ts'

/** BullMQ gives a job that was sent back to the same node nearly every second time, so the bound is larger than the number of nodes to try. */
const unfitMost = 8

export interface ListenerOptions {
  readonly place: QueuePlace
  readonly pool: string
  readonly slots: number
  readonly onWake: OnWake
  readonly waker: BullWaker
  readonly log: Pick<WorkerLog, 'debug'>
}

export class WakeupListener {
  readonly #o: ListenerOptions
  readonly #worker: Worker
  /** Wake-ups that were answered here; their jobs are still to come, or to come back. */
  readonly #answered = new RecentIds()
  /** Wake-ups that were answered here by a slot that could run nothing; their jobs are still to come, too. */
  readonly #unfit = new RecentIds()
  #isHolding = false

  constructor(options: ListenerOptions) {
    this.#o = options
    const { place, pool, slots, log } = options
    this.#worker = new Worker(queueName(pool), (job: Job) => this.#onJob(readDelivery(job.data)), {
      connection: place.connection,
      prefix: place.prefix,
      concurrency: slots,
      autorun: true,
      lockDuration: 30_000,
      stalledInterval: 60_000,
      maxStalledCount: 1_000_000_000,
      drainDelay: 60,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    })
    this.#worker.on('error', (error) => log.debug('BullMQ reported an error', { pool, error: String(error) }))
  }

  ready(): Promise<unknown> {
    return this.#worker.waitUntilReady()
  }

  /** A script published this wake-up to this node; its job follows. */
  onPublished(id: string): void {
    const { firstClaim, end } = this.#wake(id)
    if (end === null) {
      void firstClaim.then((first) => this.#noteFirst(first))
      return
    }
    this.#answered.note(id)
    void firstClaim.then((first) => {
      // The claim failed, and its job may bring another one that succeeds.
      if (first === null) this.#answered.take(id)
    })
    void end.then((how) => {
      // The job may have come and gone while the slot had work.
      if (how === 'unfit') void this.#sendBack({ id, unfit: 1, others: [] })
    })
  }

  async #onJob(delivery: Delivery | null): Promise<void> {
    if (delivery === null) return
    const { id, others } = delivery
    if (this.#answered.take(id)) return this.#sendOn(others)
    if (this.#unfit.take(id)) return this.#passOn(delivery)
    const { firstClaim, end } = this.#wake(id)
    if (end === null) return this.#hold(delivery, firstClaim)
    const first = await firstClaim
    if (first?.isUnfit) return this.#passOn(delivery)
    this.#sendOn(others)
    if ((await end) === 'unfit') this.#passOn({ ...delivery, others: [] })
  }

  /**
   * Holds a job for which this node has no free slot (WAKE-3). If the copy that is sent back comes to this node again later, the slot that came has
   * answered it.
   */
  async #hold(delivery: Delivery, firstClaim: Waking['firstClaim']): Promise<void> {
    const sent = this.#sendBack(delivery)
    // The node holds one job of a queue, which is enough.
    if (this.#isHolding) return
    this.#isHolding = true
    // Until the copy is sent, the node takes the other jobs of the queue, and they are sent back as one with it (WAKE-9).
    void sent.then(() => {
      if (this.#isHolding) this.#worker.concurrency = 1
    })
    this.#noteFirst(await firstClaim)
    this.#isHolding = false
    this.#worker.concurrency = this.#o.slots
  }

  #noteFirst(first: FirstClaim | null): void {
    if (first === null) return
    const ids = first.isUnfit ? this.#unfit : this.#answered
    ids.note(first.wakeup)
  }

  /** Passes a job on to other nodes (WAKE-4). When it was passed on often enough, each of the wake-ups that it stands for is tried once more. */
  #passOn({ id, unfit, others }: Delivery): void {
    if (unfit < unfitMost) void this.#sendBack({ id, unfit: unfit + 1, others })
    else this.#sendOn(others, unfit)
  }

  #wake(id: string): Waking {
    const { place, pool, onWake } = this.#o
    return onWake(place.partition, { id, pool })
  }

  #sendOn(ids: readonly string[], unfit = 0): void {
    this.#o.waker.sendOn(this.#o.place.partition, this.#o.pool, halve(ids, unfit))
  }

  #sendBack(delivery: Delivery): Promise<void> {
    return this.#o.waker.sendBack(this.#o.place.partition, this.#o.pool, delivery)
  }

  /** Takes no more jobs, and does not wait for those whose slots are still awake. */
  async stop(): Promise<void> {
    await this.#worker.close(true).catch(() => {})
  }
}
