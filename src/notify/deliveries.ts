/**
 * Duty: requests that tell of sessions, as BullMQ jobs: tried again with growing pauses until they are answered, and kept for some days to be looked at.
 * DELIVERY-1 The id of a job follows from what it tells: telling it twice makes one job.
 * DELIVERY-2 A receiver that answers with a status of 2xx has it. Any other answer, and none, is tried again: ten times over about three hours.
 */
import { Queue, UnrecoverableError, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { InputError } from '../core/errors.ts'
import type { SessionNotice } from './session-notice.ts'
import { type PostOptions, signedPost } from './signed-post.ts'

const queueName = 'deliveries'
const daySeconds = 86_400
/** A node that stops waits at most this long for requests under way. BullMQ gives the rest to another node. */
const stopMsMax = 5_000

export interface DeliveryJob {
  readonly url: string
  readonly body: string
}

const jobOptions = {
  attempts: 10,
  removeOnComplete: { age: 7 * daySeconds, count: 10_000 },
  removeOnFail: { age: 30 * daySeconds, count: 10_000 },
} as const

export class Deliveries {
  readonly #queue: Queue<DeliveryJob>
  readonly #worker: Worker<DeliveryJob>
  readonly #retryMs: number
  readonly #connection: Redis

  /** `prefix`: of troupe's own queues. The connections stay the caller's. */
  constructor(
    connection: Redis,
    prefix: string,
    { retryMs, ...options }: PostOptions & { readonly retryMs: number },
    log: Pick<WorkerLog, 'warn'>,
  ) {
    this.#retryMs = retryMs
    this.#connection = connection
    this.#queue = new Queue(queueName, { connection, prefix, skipMetasUpdate: true })
    this.#queue.on('error', () => {})
    this.#worker = new Worker(queueName, (job) => deliver(job.data, job.id ?? '', options), {
      connection,
      prefix,
      concurrency: 20,
      // A node that dies is no attempt: else a second death would end the job (DELIVERY-2).
      maxStalledCount: 1_000_000_000,
    })
    this.#worker.on('error', () => {})
    this.#worker.on('failed', (job, error) => {
      // Of the address only the host: the rest of it is often a secret.
      const host = URL.parse(String(job?.data.url))?.host
      const fields = { delivery: job?.id, host, attempt: job?.attemptsMade, error: error.message }
      log.warn('a request that tells of a session was not accepted', fields)
    })
  }

  async add(url: string, jobId: string, notice: SessionNotice): Promise<void> {
    const data = { url, body: JSON.stringify(notice) }
    const backoff = { type: 'exponential', delay: this.#retryMs, jitter: 0.2 } as const
    await this.#queue.add(notice.type, data, { ...jobOptions, backoff, jobId })
  }

  async ready(): Promise<void> {
    await this.#worker.waitUntilReady()
  }

  /** Requests that are under way end first. Without Redis they cannot, and BullMQ would wait for ever. */
  async stop(): Promise<void> {
    const isAway = this.#connection.status !== 'ready'
    await Promise.race([
      this.#worker.close(isAway).catch(() => {}),
      new Promise((resolve) => setTimeout(resolve, stopMsMax).unref()),
    ])
    await this.#queue.close()
  }
}

async function deliver({ url, body }: DeliveryJob, id: string, options: PostOptions): Promise<{ status: number }> {
  let status: number
  try {
    status = await signedPost(url, `msg_${id}`, body, options)
  } catch (thrown) {
    // Another attempt would be refused too.
    if (thrown instanceof InputError) throw new UnrecoverableError(thrown.message)
    throw thrown
  }
  if (status >= 200 && status < 300) return { status }
  throw new Error(`${new URL(url).host} answered with status ${status}`)
}
