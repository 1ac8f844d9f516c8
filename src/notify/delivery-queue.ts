/**
 * Duty: the queue of requests that tell of what happened, seen from outside: its jobs as rows, tests that are added, deliveries that are made again.
 * Owns: the name of the queue, the ids and the forms of its jobs. Does not own: how they are sent (deliveries.ts).
 * DELIVERIES-1 The id of a job for an endpoint begins with the id of the endpoint. So the ids alone tell which jobs belong to it.
 * DELIVERIES-2 Rows are read with plain commands: BullMQ's own lists may write.
 */
import { Job, Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { ConflictError } from '../core/errors.ts'
import { fromJson } from '../core/json.ts'
import { type DeliveryState, deliveryStates } from '../core/webhook/delivery-state.ts'
import { statusIn } from './request-failure.ts'

export const queueName = 'deliveries'
const daySeconds = 86_400
/** BullMQ multiplies the due time of a delayed job by this, to keep jobs of one millisecond in order. */
const delayOrders = 0x1000
/** How many ids are read at once; this many of the newest say how an endpoint does. */
const idsAtOnce = 1_000

/** `url`: the address that a session itself names. `webhook`: the endpoint, which knows its address by itself. */
export interface DeliveryJob {
  readonly url?: string
  readonly webhook?: string
  readonly body: string
}

/** A delivery that was accepted is kept for a week, one that failed for good for a month. */
export const keptJobs = {
  removeOnComplete: { age: 7 * daySeconds, count: 10_000 },
  removeOnFail: { age: 30 * daySeconds, count: 10_000 },
} as const

export function openDeliveryQueue(connection: Redis, prefix: string): Queue<DeliveryJob> {
  const queue = new Queue<DeliveryJob>(queueName, { connection, prefix, skipMetasUpdate: true })
  queue.on('error', () => {})
  return queue
}

/** How many requests wait while somebody has paused the queue with a tool of BullMQ; null if it is not paused. It uses plain reads (DELIVERIES-2). */
export async function readPausedDeliveries(redis: Redis, prefix: string): Promise<number | null> {
  const key = `${prefix}:${queueName}`
  if ((await redis.hexists(`${key}:meta`, 'paused')) === 0) return null
  const counts = await Promise.all([
    redis.llen(`${key}:${sets.waiting}`),
    // BullMQ before version 6 moves waiting jobs to this list when it pauses the queue.
    redis.llen(`${key}:paused`),
    redis.zcard(`${key}:${sets.retrying}`),
  ])
  return counts.reduce((total, requests) => total + requests, 0)
}

/** BullMQ's states, by ours. */
const sets = {
  waiting: 'wait',
  sending: 'active',
  retrying: 'delayed',
  delivered: 'completed',
  failed: 'failed',
} as const satisfies Readonly<Record<DeliveryState, string>>

export interface DeliveryRow {
  readonly id: string
  /** Null: its session says where its result goes. */
  readonly webhookId: string | null
  /** The host in the address that such a session names. The rest of it is often a secret. */
  readonly host: string | null
  readonly type: string
  readonly sessionId: string | null
  readonly state: DeliveryState
  readonly attempts: number
  /** The status of the last answer; null if there was none. */
  readonly status: number | null
  /** Why the last attempt was not accepted. */
  readonly reason: string | null
  readonly createdAt: number
  /** When the next attempt is made. */
  readonly nextAt: number | null
  readonly finishedAt: number | null
  readonly body: unknown
}

/** How an endpoint does, as its newest jobs say. */
export interface EndpointHealth {
  readonly deliveredAt: number | null
  /** Null if the last delivery was accepted, and none is tried again. */
  readonly failing: { readonly retrying: number; readonly reason: string | null } | null
}

export function jobIdFor(webhook: string, noticeId: string): string {
  return `${webhook}.${noticeId}`
}

export class DeliveryQueue {
  readonly #connection: Redis
  readonly #queue: Queue<DeliveryJob>
  readonly #key: string

  /** `prefix`: the prefix of troupe's own queues. The caller closes the connection. */
  constructor(connection: Redis, prefix: string) {
    this.#connection = connection
    this.#queue = openDeliveryQueue(connection, prefix)
    this.#key = `${prefix}:${queueName}`
  }

  /** The newest deliveries come first. */
  async list({
    webhookId,
    state,
    limit,
  }: {
    readonly webhookId?: string | undefined
    readonly state?: DeliveryState | undefined
    readonly limit: number
  }): Promise<DeliveryRow[]> {
    const states = state === undefined ? deliveryStates : [state]
    const found = await Promise.all(states.map((one) => Array.fromAsync(this.#rows(one, webhookId, limit))))
    return found
      .flat()
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
      .slice(0, limit)
  }

  async *#rows(state: DeliveryState, webhookId: string | undefined, limit: number): AsyncGenerator<DeliveryRow> {
    let left = limit
    for (let from = 0; left > 0; from += idsAtOnce) {
      const page = await this.#ids(state, from)
      const ids = page.filter(({ id }) => webhookId === undefined || id.startsWith(`${webhookId}.`)).slice(0, left)
      const rows = await Promise.all(ids.map(({ id, score }) => this.#row(id, state, score)))
      // A delivery that changed in the meantime is found in its new state, or the next time.
      yield* rows.filter((row) => row !== null)
      left -= ids.length
      if (page.length < idsAtOnce) return
    }
  }

  /**
   * The newest ids come first. The score of a finished delivery is the time of its end; that of a delivery which is tried again is the time of its
   * next attempt.
   */
  async #ids(state: DeliveryState, from: number): Promise<{ readonly id: string; readonly score: number }[]> {
    const key = `${this.#key}:${sets[state]}`
    const to = from + idsAtOnce - 1
    if (state === 'waiting' || state === 'sending')
      return (await this.#connection.lrange(key, from, to)).map((id) => ({ id, score: 0 }))
    const flat = await this.#connection.zrevrange(key, from, to, 'WITHSCORES')
    return Array.from({ length: flat.length / 2 }, (_, index) => ({
      id: flat[2 * index] as string,
      score: Number(flat[2 * index + 1]) / (state === 'retrying' ? delayOrders : 1),
    }))
  }

  async #row(id: string, state: DeliveryState, score: number): Promise<DeliveryRow | null> {
    const job = await Job.fromId<DeliveryJob>(this.#queue, id)
    return job === undefined ? null : rowOf(job, state, state === 'retrying' ? Math.floor(score) : null)
  }

  async get(id: string): Promise<DeliveryRow | null> {
    for (const state of deliveryStates) {
      const key = `${this.#key}:${sets[state]}`
      if (state === 'waiting' || state === 'sending') {
        if ((await this.#connection.lpos(key, id)) !== null) return this.#row(id, state, 0)
        continue
      }
      const score = await this.#connection.zscore(key, id)
      if (score !== null) return this.#row(id, state, Number(score) / (state === 'retrying' ? delayOrders : 1))
    }
    return null
  }

  /**
   * Sends a delivery once more. If it has ended, it gets all its attempts anew; if it waits for its next attempt, it keeps those that are left. One that
   * is being sent is left as it is.
   */
  async redeliver(id: string, state: DeliveryState): Promise<void> {
    if (state === 'waiting' || state === 'sending') return
    const job = await Job.fromId<DeliveryJob>(this.#queue, id)
    try {
      if (state === 'retrying') await job?.promote()
      else await job?.retry(sets[state], { resetAttemptsMade: true, resetAttemptsStarted: true })
    } catch (cause) {
      // BullMQ refuses a call that is sent again because its answer was lost: the first one has queued the delivery.
      const now = (await this.get(id))?.state
      if (now === 'waiting' || now === 'sending') return
      throw new ConflictError('transition_illegal', `delivery ${id} changed in the meantime: look at it again.`, {
        cause,
      })
    }
  }

  /** Adds a request with one attempt. */
  async add(webhook: string, noticeId: string, { type, body }: { readonly type: string; readonly body: string }) {
    const jobId = jobIdFor(webhook, noticeId)
    await this.#queue.add(type, { webhook, body }, { ...keptJobs, attempts: 1, jobId })
    return jobId
  }

  /** How the endpoints do that have jobs among the newest. */
  async health(): Promise<ReadonlyMap<string, EndpointHealth>> {
    const [delivered, failed, retrying] = await Promise.all([
      this.#newest('delivered'),
      this.#newest('failed'),
      this.#newest('retrying'),
    ])
    const of = new Set([...delivered.keys(), ...failed.keys(), ...retrying.keys()])
    const entries = [...of].map(async (webhook): Promise<[string, EndpointHealth]> => {
      const deliveredAt = delivered.get(webhook)?.score ?? null
      const lost = failed.get(webhook)
      const again = retrying.get(webhook)
      const worst = again ?? (lost !== undefined && lost.score > (deliveredAt ?? 0) ? lost : undefined)
      if (worst === undefined) return [webhook, { deliveredAt, failing: null }]
      const reason = await this.#connection.hget(`${this.#key}:${worst.id}`, 'failedReason')
      return [webhook, { deliveredAt, failing: { retrying: again?.count ?? 0, reason } }]
    })
    return new Map(await Promise.all(entries))
  }

  /** The newest delivery in this state for each endpoint, and how many there are. */
  async #newest(state: DeliveryState) {
    const newest = new Map<string, { readonly id: string; readonly score: number; readonly count: number }>()
    for (const { id, score } of await this.#ids(state, 0)) {
      const dot = id.indexOf('.')
      if (dot < 0) continue
      const webhook = id.slice(0, dot)
      const known = newest.get(webhook)
      newest.set(webhook, known ? { ...known, count: known.count + 1 } : { id, score, count: 1 })
    }
    return newest
  }

  async close(): Promise<void> {
    await this.#queue.close()
  }
}

function rowOf(job: Job<DeliveryJob>, state: DeliveryState, nextAt: number | null): DeliveryRow {
  const { url, webhook = null, body } = (job.data ?? {}) as Partial<DeliveryJob>
  const content =
    typeof body === 'string' ? (fromJson(body) as { readonly data?: { readonly sessionId?: unknown } }) : null
  const sessionId = content?.data?.sessionId
  const reason = state === 'delivered' ? null : (job.failedReason ?? null)
  const status =
    state === 'delivered' ? (job.returnvalue as { readonly status?: number } | null)?.status : statusIn(reason)
  return {
    id: job.id as string,
    webhookId: webhook,
    host: url === undefined ? null : (URL.parse(url)?.host ?? null),
    type: job.name,
    sessionId: typeof sessionId === 'string' ? sessionId : null,
    state,
    attempts: job.attemptsMade,
    status: status ?? null,
    reason,
    createdAt: job.timestamp,
    nextAt,
    finishedAt: job.finishedOn ?? null,
    body: content,
  }
}
