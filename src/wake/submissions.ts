/**
 * Duty: background jobs from any BullMQ producer in any language become sessions or messages.
 * Q-a A job becomes a session once, however often it is delivered: the job's id is the idempotency key. Ids that BullMQ counts
 *     itself begin anew when a queue is obliterated, so those are joined with the job's timestamp.
 * Q-b A bad job fails with a clear reason and stays in BullMQ's failed set; one that cannot be stored now is retried by BullMQ, and one
 *     whose mailbox is full as often as its producer asked for. What its producer has removed when it fails is in the log alone.
 */
import { type BackoffOptions, DelayedError, type Job, UnrecoverableError } from 'bullmq'
import type { Redis } from 'ioredis'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { InputError, RuntimeError } from '../core/errors.ts'
import type { QueuePlace } from './bells.ts'
import { SubmissionWorker } from './submission-worker.ts'

const submissionQueue = 'submit'

export interface Submitted {
  readonly sessionId: string
  readonly workerId: string
  /** The job's id was used before, for something else; or no node has ever hosted its kind. */
  readonly warning?: string
}

/** Turns the data of a job into a session or a message; throws a RuntimeError that says what is wrong with it. */
export type Submit = (data: unknown, idempotencyKey: string) => Promise<Submitted>

/** A job whose session cannot be stored now is tried again after this long, and one whose mailbox is full, unless it says when. */
const retryMs = 1_000
/** Jobs in hand are waited for at most this long when the node stops: BullMQ gives what is left to another. */
const stopMsMax = 5_000

export class BullSubmissionListener {
  readonly #connection: Redis
  readonly #worker: SubmissionWorker

  constructor(connection: Redis, place: QueuePlace, submit: Submit, log: Pick<WorkerLog, 'debug' | 'warn'>) {
    this.#connection = connection
    this.#worker = new SubmissionWorker(
      submissionQueue,
      async (job, token) => {
        try {
          const why = this.#worker.whyUnreadable(job)
          if (why !== undefined) throw new InputError(`the data of a submitted job is not JSON: ${why}.`)
          const submitted = await submit(job.data, keyOf(job))
          if (submitted.warning !== undefined)
            log.warn('a submitted job was accepted with a warning', { jobId: job.id, warning: submitted.warning })
          return submitted
        } catch (error) {
          if (error instanceof RuntimeError && error.retryable) {
            // A Redis that refuses this, too, may take the next command, and that must not be that the job has failed.
            await job.moveToDelayed(Date.now() + retryMs, token).catch((cause: unknown) => {
              const what = 'a submitted job could not be put off; BullMQ gives it to a node again'
              log.warn(what, { jobId: job.id, error: String(cause) })
            })
            throw new DelayedError()
          }
          log.warn('a submitted job was refused', { jobId: job.id, reason: String(error) })
          job.opts.backoff = backoffOf(job)
          throw refusal(error)
        }
      },
      {
        connection,
        prefix: place.prefix,
        concurrency: 20,
        maxStalledCount: 1_000_000_000,
        stalledInterval: 5_000,
        drainDelay: 1,
      },
      log,
    )
    this.#worker.on('error', (error) => {
      // Repeated as BullMQ did before it had job schedulers. Nothing fails, and nobody else is told.
      if (error.message.includes('Legacy repeatable job'))
        log.warn('a repeated job was submitted for the last time', { error: String(error) })
      else log.debug('BullMQ reported an error', { queue: submissionQueue, error: String(error) })
    })
  }

  ready(): Promise<unknown> {
    return this.#worker.waitUntilReady()
  }

  /** Lets jobs in hand end. Without Redis they cannot, and BullMQ would wait for it for ever. */
  async stop(): Promise<void> {
    const isAway = this.#connection.status !== 'ready'
    await Promise.race([
      this.#worker.close(isAway).catch(() => {}),
      new Promise((resolve) => setTimeout(resolve, stopMsMax).unref()),
    ])
  }
}

/** BullMQ keeps this many orders within each millisecond of a delay. */
const delayOrders = 0x1000

/** Nodes take jobs from that of the first partition alone. */
export interface SubmissionQueue {
  /** Of BullMQ. */
  readonly prefix: string
  /** Jobs that a node would take now, or were it not paused. */
  readonly jobs: number
  readonly isPaused: boolean
}

/** Plain reads: BullMQ's own counts may write. */
export async function readSubmissionQueue(
  redis: Redis,
  { prefix }: Pick<QueuePlace, 'prefix'>,
  now: number,
): Promise<SubmissionQueue> {
  const queue = `${prefix}:${submissionQueue}`
  const [paused, ...counts] = await Promise.all([
    redis.hexists(`${queue}:meta`, 'paused'),
    redis.llen(`${queue}:wait`),
    // Where BullMQ before version 6 put those that wait, when it paused the queue.
    redis.llen(`${queue}:paused`),
    redis.zcard(`${queue}:prioritized`),
    redis.zcount(`${queue}:delayed`, '-inf', (now + 1) * delayOrders - 1),
  ])
  return { prefix, jobs: counts.reduce((total, jobs) => total + jobs, 0), isPaused: paused === 1 }
}

/** What BullMQ records. Of a mailbox that is full, what the producer said of attempts and back-off counts: there may be room then. */
function refusal(error: unknown): Error {
  if (!(error instanceof RuntimeError)) return new UnrecoverableError(String(error))
  const reason = `${error.code}: ${error.message}`
  return error.code === 'mailbox_full' ? new Error(reason) : new UnrecoverableError(reason)
}

/**
 * Without one BullMQ would try again at once. Of one whose name it does not know it throws instead of recording anything, and gives the
 * job to a node again whenever its lock has ended. A number has become a fixed one already.
 */
function backoffOf({ opts: { backoff } }: Job): BackoffOptions {
  const { type, delay } = (backoff ?? {}) as BackoffOptions
  const isKnown = (type === 'fixed' || type === 'exponential') && Number.isFinite(delay)
  return isKnown ? (backoff as BackoffOptions) : { type: 'fixed', delay: retryMs }
}

function keyOf(job: Job): string {
  const id = job.id ?? ''
  return /^\d+$/.test(id) ? `submit:${id}:${job.timestamp}` : `submit:${id}`
}
