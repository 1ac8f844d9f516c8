/**
 * Duty: wake-ups over BullMQ: ringing them, and answering them with a node's slots.
 * A wake-up says "a slot should come and claim"; it names no worker. Losing, doubling, delaying or reordering wake-ups is harmless:
 * stale ones are put again by sweeps (docs/protocol.md).
 * B-a A failed ring is logged and never retried: whoever sweeps next runs what is queued.
 * B-b A slot that was told of its wake-up, or that a sweep woke, has no job: so jobs come to nodes that are full. Such a job is kept until a slot
 *     comes to its line, the node takes no other meanwhile, and the wake-up is rung again for the others. Where no other took it, it has been
 *     answered when it is heard here, or heard in vain. Else each visit of a slot to a line of which it can run nothing would leave a job
 *     that calls the next one.
 *     Where nodes of one pool host different kinds, a job may come to one that can run nothing of what is in line: then it goes on to others.
 * B-c Job states are never read: BullMQ's lock, stall and retry rules decide nothing here.
 * B-d Of a queue that somebody paused the jobs are removed: the work is done by told nodes and sweeps, and nobody would ever take them.
 * B-e Jobs that nobody took for a minute are removed: while the slots of all nodes are taken one more is rung every few seconds, for
 *     wake-ups that are long stale when a slot is free. Those of pools that have no node nodes of other pools remove (left-wake-ups.ts).
 * B-f Where one job stands for several wake-ups of a line, it names the others: they count as out, so no script puts new ones for what is in
 *     line. When it has found work, or nothing left to do, the next is rung with the rest, until a node is full: one job, however many wait.
 *     So it is when it was heard in vain too often; the others then go round no more than once each.
 */
import { Queue, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import type { Waker, Wakeup, WakeupAnswer } from '../core/ports/ports.ts'

export interface QueuePlace {
  readonly partition: number
  /** BullMQ prefix of the partition: shares the hash tag of our keys. */
  readonly prefix: string
}

export function queueName(pool: string): string {
  return `wakeup-${pool}`
}

/**
 * How much later a wake-up is rung that a node was told of: BullMQ's work for it is then not in the way of that node's own. Where the node
 * had no slot for it, its worker waits that much longer. One that was heard in vain is rung as late, so that others than the node
 * which heard it wait for jobs again, too.
 */
const laterMs = 5
/**
 * A wake-up that is heard in vain is rung at most so often again. BullMQ gives nearly every second one to the same node; and there may be no
 * node that can run what is in line now, as with a suspect.
 */
const hopsMax = 8
/**
 * A wake-up that was heard in vain more often than this is rung again together with others of its line: where the nodes that could run it are
 * busy for long, fifty wake-ups would otherwise become 450 jobs, each with a look along the line.
 */
const hopsAlone = 2
/**
 * So it is with a wake-up that came to full nodes more often than this. While slots go from one line to another, each that leaves rings for
 * those it leaves behind, and none of these jobs finds a slot: they would become more and more, and all go round with each slot that leaves.
 */
const fullAlone = 2
/** One job names no more others than this, the newest: the oldest are stale first. As many as a script puts at once. */
const behindMost = 50
/** How often a node looks whether somebody paused its wake-ups, or whether jobs have waited for as long. */
export const tidyEveryMs = 60_000
/** So many of these are removed at once, by a script of BullMQ. */
const tidyMost = 1_000

export class BullWaker implements Waker {
  readonly #connection: Redis
  readonly #places: readonly QueuePlace[]
  readonly #log: Pick<WorkerLog, 'warn'>
  readonly #queues = new Map<string, Queue>()
  readonly #ringing = new Set<Promise<unknown>>()
  readonly #waiting = new Set<() => void>()
  /** By partition and pool. */
  readonly #together = new Map<string, Wakeup>()

  /** The connection stays the caller's: it is not closed here. */
  constructor(connection: Redis, places: readonly QueuePlace[], log: Pick<WorkerLog, 'warn'>) {
    this.#connection = connection
    this.#places = places
    this.#log = log
  }

  wake(partition: number, wakeups: readonly Wakeup[]): void {
    if (wakeups.length === 0) return
    const { together, later, now } = Object.groupBy(wakeups, ({ isTold, hops = 0, full = 0 }) => {
      if (hops > hopsAlone || full > fullAlone) return 'together'
      return isTold || hops > 0 ? 'later' : 'now'
    })
    if (now) this.#add(partition, now)
    if (later) this.#later(() => this.#add(partition, later))
    for (const wakeup of together ?? []) this.#ringTogether(partition, wakeup)
  }

  /** Of those of one line that wait at the same time one is rung, for all (B-f): that which may be rung again most often. */
  #ringTogether(partition: number, wakeup: Wakeup): void {
    const line = `${partition}/${wakeup.pool}`
    const waits = this.#together.get(line)
    this.#together.set(line, waits === undefined ? wakeup : oneFor(waits, wakeup))
    if (waits !== undefined) return
    this.#later(() => {
      const one = this.#together.get(line) as Wakeup
      this.#together.delete(line)
      this.#add(partition, [one])
    })
  }

  #later(wake: () => void): void {
    const run = () => {
      clearTimeout(timer)
      this.#waiting.delete(run)
      wake()
    }
    const timer = setTimeout(run, laterMs)
    this.#waiting.add(run)
  }

  #add(partition: number, wakeups: readonly Wakeup[]): void {
    for (const [pool, of] of Map.groupBy(wakeups, (wakeup) => wakeup.pool)) {
      const queue = this.#queue(partition, pool)
      const jobs = of.map(({ id, isAgain, hops, full, behind }) => ({
        name: 'wakeup',
        data: {
          wakeup: id,
          ...(hops ? { hops } : {}),
          ...(full ? { full } : {}),
          ...(behind?.length ? { behind } : {}),
        },
        opts: { ...(isAgain ? {} : { jobId: id }), attempts: 1, removeOnComplete: true, removeOnFail: true },
      }))
      const [first] = jobs
      if (first === undefined) continue
      const added = jobs.length === 1 ? queue.add(first.name, first.data, first.opts) : queue.addBulk(jobs)
      const done = added.catch((error: unknown) =>
        this.#log.warn('a wake-up could not be rung; a sweep will run what is queued', { pool, error: String(error) }),
      )
      this.#ringing.add(done)
      void done.finally(() => this.#ringing.delete(done))
    }
  }

  #queue(partition: number, pool: string): Queue {
    const key = `${partition}/${pool}`
    let queue = this.#queues.get(key)
    if (queue === undefined) {
      queue = openWakeupQueue(this.#connection, prefixOf(this.#places, partition), pool)
      this.#queues.set(key, queue)
    }
    return queue
  }

  /** Waits for rings under way, at most about a second: a lost ring is healed, a hanging one must not hold a process. */
  async stop(): Promise<void> {
    for (const wake of this.#waiting) wake()
    await Promise.race([
      Promise.allSettled(this.#ringing),
      new Promise((resolve) => setTimeout(resolve, 1_000).unref()),
    ])
    await Promise.allSettled([...this.#queues.values()].map((queue) => queue.close()))
    this.#queues.clear()
  }
}

/** A queue of wake-ups, as tools of BullMQ name it: `wakeup-<pool>` with this prefix. */
export interface WakeupQueue {
  readonly pool: string
  readonly prefix: string
}

/** Those that somebody paused with a tool of BullMQ. */
export async function readPausedWakeups(
  redis: Redis,
  places: readonly Pick<QueuePlace, 'prefix'>[],
  pools: readonly string[],
): Promise<WakeupQueue[]> {
  const queues = pools.flatMap((pool) => places.map(({ prefix }) => ({ pool, prefix })))
  const isPaused = ({ pool, prefix }: WakeupQueue) => redis.hexists(`${prefix}:${queueName(pool)}:meta`, 'paused')
  const paused = await Promise.all(queues.map(isPaused))
  return queues.filter((_, index) => paused[index] === 1)
}

/** What answers wake-ups. Must not throw. */
export interface WakeupAnswerer {
  /** Resolves when the slot has nothing left to do, or no slot was free. Calls `claimed` before, once it has found work, or nothing left. */
  answer(wakeup: Wakeup, claimed: () => void): Promise<WakeupAnswer>
  /** Of one for which no slot was free: resolves when a slot has come to its line. */
  slotCame(wakeup: Wakeup): Promise<void>
}

/** Listens for wake-ups of one pool in one partition. */
export class BullWakeupListener {
  readonly #worker: Worker
  readonly #queue: Queue
  readonly #pool: string
  readonly #prefix: string
  readonly #log: Pick<WorkerLog, 'debug' | 'warn'>
  readonly #tidying: NodeJS.Timeout
  #isPaused = false

  constructor(
    connection: Redis,
    place: QueuePlace,
    pool: string,
    slots: number,
    answerer: WakeupAnswerer,
    waker: Waker,
    log: Pick<WorkerLog, 'debug' | 'warn'>,
  ) {
    this.#pool = pool
    this.#prefix = place.prefix
    this.#log = log
    this.#queue = openWakeupQueue(connection, place.prefix, pool)
    this.#tidying = setInterval(() => void this.runOnce(), tidyEveryMs).unref()
    this.#worker = new Worker(
      queueName(pool),
      async (job) => {
        const { wakeup: id, ...rest } = job.data as Record<'wakeup' | 'hops' | 'full' | 'behind', unknown>
        if (typeof id !== 'string') return
        const [heard, full] = [countOf(rest.hops), countOf(rest.full)]
        let behind = namesOf(rest.behind)
        const wake = (wakeup: Pick<Wakeup, 'id' | 'hops' | 'full' | 'behind'>) =>
          waker.wake(place.partition, [{ ...wakeup, pool, isAgain: true }])
        // At once, and together with others as soon as a node is full. What was heard in vain before this one was not counts no more.
        const ringNext = () => {
          const next = behind.at(-1)
          if (next !== undefined) wake({ id: next, full: Math.min(full, fullAlone), behind: behind.slice(0, -1) })
          behind = []
        }
        const answer = await answerer.answer({ id, pool }, ringNext)
        if (answer === 'done') ringNext()
        if (answer === 'unfit') {
          const next = behind.at(-1)
          if (heard < hopsMax) wake({ id, hops: heard + 1, behind })
          // Each of the others is heard once at least, and not as often anew: there may be no node that can run what is in line now.
          else if (next !== undefined) wake({ id: next, hops: heard, behind: behind.slice(0, -1) })
        }
        if (answer !== 'full') return
        this.#worker.concurrency = 1
        // However often it was heard in vain: full nodes in between must not let it go round for ever.
        wake({ id, hops: heard, full: full + 1, behind })
        await answerer.slotCame({ id, pool })
        this.#worker.concurrency = slots
      },
      {
        connection,
        prefix: place.prefix,
        concurrency: slots,
        autorun: true,
        lockDuration: 30_000,
        stalledInterval: 5_000,
        maxStalledCount: 1_000_000_000,
        drainDelay: 1,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
      },
    )
    this.#worker.on('error', (error) => log.debug('BullMQ reported an error', { pool, error: String(error) }))
  }

  ready(): Promise<unknown> {
    return this.#worker.waitUntilReady()
  }

  /** B-d, B-e. Does not throw. */
  async runOnce(): Promise<void> {
    const pool = this.#pool
    try {
      const isPaused = await this.#queue.isPaused()
      if (isPaused) await this.#queue.drain()
      // BullMQ tells an event of it each time, also of none.
      else if ((await this.#queue.getWaitingCount()) > 0) await removeOldWakeups(this.#queue)
      if (isPaused && !this.#isPaused)
        this.#log.warn(`the queue ${queueName(pool)} is paused in BullMQ: work may begin a second late`, {
          pool,
          prefix: this.#prefix,
        })
      this.#isPaused = isPaused
    } catch (error) {
      this.#log.debug('wake-ups could not be tidied', { pool, error: String(error) })
    }
  }

  /** Takes no more wake-ups; does not wait for those being answered. */
  async stop(): Promise<void> {
    clearInterval(this.#tidying)
    await Promise.allSettled([this.#queue.close(), this.#worker.close(true)])
  }
}

function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

function namesOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}

/** One of both, which names the other, and those that both stand for. */
function oneFor(one: Wakeup, other: Wakeup): Wakeup {
  const [first, second] = (other.hops ?? 0) < (one.hops ?? 0) ? [other, one] : [one, other]
  const names = new Set([...(one.behind ?? []), ...(other.behind ?? []), second.id])
  names.delete(first.id)
  return { ...first, behind: [...names].slice(-behindMost) }
}

export function openWakeupQueue(connection: Redis, prefix: string, pool: string): Queue {
  const queue = new Queue(queueName(pool), { connection, prefix, skipMetasUpdate: true })
  queue.on('error', () => {})
  return queue
}

/** B-e. There may be more than one script is to remove, and among the last of the line one that was given back just now. */
export async function removeOldWakeups(queue: Queue): Promise<void> {
  for (let removed = 1; removed > 0; ) removed = (await queue.clean(tidyEveryMs, tidyMost, 'wait')).length
}

function prefixOf(places: readonly QueuePlace[], partition: number): string {
  return (places.find((place) => place.partition === partition) as QueuePlace).prefix
}
