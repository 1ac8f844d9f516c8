/**
 * Duty: the BullMQ queues of wake-ups, one for each pool in each partition, and what a job in them says.
 * Does not own who adds or takes jobs: bull-waker.ts and wakeup-listener.ts do.
 */
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'

export interface QueuePlace {
  readonly partition: number
  /** BullMQ's prefix in this partition. It has the hash tag of our keys. */
  readonly prefix: string
  /** The connection to the server of the partition, for BullMQ. The caller closes it. */
  readonly connection: Redis
}

export function queueName(pool: string): string {
  return `wakeup-${pool}`
}

export function openQueue({ connection, prefix }: Omit<QueuePlace, 'partition'>, pool: string): Queue {
  const queue = new Queue(queueName(pool), { connection, prefix, skipMetasUpdate: true })
  queue.on('error', () => {})
  return queue
}

/** A wake-up on its way, as one job carries it. */
export interface Delivery {
  readonly id: string
  /** How many nodes could run nothing of what was queued when the job came to them. */
  readonly unfit: number
  /** Ids of more wake-ups of the same queue. They have no job while this one stands for them (WAKE-9). */
  readonly others: readonly string[]
}

/** How many others one job names at most, the newest ones: the oldest are stale first. A script puts no more wake-ups at once. */
const othersMost = 50

export function toJobData({ id, unfit, others }: Delivery): Record<string, unknown> {
  return { wakeup: id, ...(unfit > 0 && { unfit }), ...(others.length > 0 && { others }) }
}

/** Null for a job that is no wake-up: anybody may add jobs to a queue. */
export function readDelivery(data: unknown): Delivery | null {
  const { wakeup, unfit, others } = (data ?? {}) as Readonly<Record<string, unknown>>
  if (typeof wakeup !== 'string') return null
  return {
    id: wakeup,
    unfit: typeof unfit === 'number' ? unfit : 0,
    others: Array.isArray(others) ? others.filter((id) => typeof id === 'string') : [],
  }
}

/** One delivery for both wake-ups: it has the id of the one that may be passed on more often, and names the other one. */
export function join(one: Delivery, other: Delivery): Delivery {
  const [first, second] = other.unfit < one.unfit ? [other, one] : [one, other]
  const ids = new Set([...one.others, ...other.others, second.id])
  ids.delete(first.id)
  return { ...first, others: [...ids].slice(-othersMost) }
}

/** Two deliveries that stand for these wake-ups, or one if there is one wake-up, or none. */
export function halve(ids: readonly string[], unfit: number): Delivery[] {
  const middle = Math.ceil(ids.length / 2)
  return [ids.slice(0, middle), ids.slice(middle)].flatMap((half) => {
    const id = half.at(-1)
    return id === undefined ? [] : { id, unfit, others: half.slice(0, -1) }
  })
}
