/**
 * Duty: turns jobs of the BullMQ queue `submit`, which any program in any language may add, into sessions, messages and answers to asks.
 * Owns: the queue, when a job fails, and when it is tried again. Does not own: what a job's data means (the `submit` that it is given decides that).
 * SUBMIT-1 A job has its effect once, however often BullMQ delivers it: the job's id is the idempotency key. BullMQ's own ids start again
 *     from 1 when somebody obliterates the queue; those are joined with the job's timestamp.
 * SUBMIT-2 A job that can never be accepted fails at once with a clear reason, and stays in BullMQ's failed set. If its producer asked BullMQ
 *     to remove failed jobs, only the log has the reason.
 * SUBMIT-3 A job that cannot be stored now is delayed and tried again. A job for a full mailbox, or for an ask that is not known yet, is tried as
 *     often as its producer asked for, but not more often than once a second.
 */
import { type BackoffOptions, DelayedError, type Job, UnrecoverableError } from 'bullmq'
import type { Redis } from 'ioredis'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { RuntimeError } from '../core/errors.ts'
import { policy } from '../core/policy.ts'
import { redactSentence } from '../core/secret/redact.ts'
import { SubmissionWorker } from './submission-worker.ts'

const submissionQueue = 'submit'

export interface Submitted {
  readonly sessionId: string
  readonly workerId: string
  /** Set for a job that answered an ask. */
  readonly askId?: string
  /** Set when the job's id was used before for something else, or no node has ever hosted its kind. */
  readonly warning?: string
}

/** Turns the data of a job into a session, a message or an answer; throws a RuntimeError that says what is wrong with it. */
export type Submit = (data: unknown, idempotencyKey: string) => Promise<Submitted>

/** A node that stops waits at most this long for jobs it works on. BullMQ gives the rest to another node. */
const stopMsMax = 5_000

export class SubmissionListener {
  readonly #connection: Redis
  readonly #worker: SubmissionWorker

  /** `prefix`: BullMQ's prefix of the first partition. The caller closes the connection. */
  constructor(connection: Redis, prefix: string, submit: Submit, log: Pick<WorkerLog, 'debug' | 'warn'>) {
    this.#connection = connection
    this.#worker = new SubmissionWorker(
      submissionQueue,
      async (job, token) => {
        try {
          const why = this.#worker.whyUnreadable(job)
          if (why !== undefined) throw why
          const submitted = await submit(job.data, keyOf(job))
          if (submitted.warning !== undefined)
            log.warn('a submitted job was accepted with a warning', { jobId: job.id, warning: submitted.warning })
          return submitted
        } catch (error) {
          if (error instanceof RuntimeError && error.retryable) {
            // If Redis refuses this command too, it may accept the next one, which must not record the job as failed.
            await job.moveToDelayed(Date.now() + policy.submitRetryMsMin, token).catch((cause: unknown) => {
              const what = 'a submitted job could not be delayed; BullMQ gives it to a node again'
              log.warn(what, { jobId: job.id, error: String(cause) })
            })
            throw new DelayedError()
          }
          log.warn('a submitted job was refused', { jobId: job.id, reason: String(error) })
          job.opts.backoff = { type: 'fixed', delay: retryMsOf(job) }
          // BullMQ stores a stack with each attempt, and a producer may ask for any number of attempts.
          job.opts.stackTraceLimit = 1
          throw refusal(error)
        }
      },
      {
        connection,
        prefix,
        concurrency: 20,
        maxStalledCount: 1_000_000_000,
        stalledInterval: 15_000,
        drainDelay: 5,
      },
      log,
    )
    this.#worker.on('error', (error) => {
      // A repeated job of BullMQ before it had job schedulers. It does not fail, so this log line is the only sign of it.
      if (error.message.includes('Legacy repeatable job'))
        log.warn('a repeatable job of the old form is repeated no more: use a job scheduler', { error: String(error) })
      else log.debug('BullMQ reported an error', { queue: submissionQueue, error: String(error) })
    })
  }

  ready(): Promise<unknown> {
    return this.#worker.waitUntilReady()
  }

  /** Waits for jobs it works on. Without Redis they cannot end, and BullMQ would wait for ever. */
  async stop(): Promise<void> {
    const isAway = this.#connection.status !== 'ready'
    await Promise.race([
      this.#worker.close(isAway).catch(() => {}),
      new Promise((resolve) => setTimeout(resolve, stopMsMax).unref()),
    ])
  }
}

/** BullMQ multiplies the due time of a delayed job by this, to keep jobs of one millisecond in order. */
const delayOrders = 0x1000

/** The queue in one partition. Nodes take jobs from the first partition only. */
export interface SubmissionQueue {
  /** BullMQ's prefix. */
  readonly prefix: string
  /** Jobs that a node takes now, or would take if the queue were not paused. */
  readonly jobs: number
  readonly isPaused: boolean
}

/** Uses plain reads, because BullMQ's own counts may write. */
export async function readSubmissionQueue(
  redis: Redis,
  { prefix }: { readonly prefix: string },
  now: number,
): Promise<SubmissionQueue> {
  const queue = `${prefix}:${submissionQueue}`
  const [paused, ...counts] = await Promise.all([
    redis.hexists(`${queue}:meta`, 'paused'),
    redis.llen(`${queue}:wait`),
    // BullMQ before version 6 moved waiting jobs to this list when it paused the queue.
    redis.llen(`${queue}:paused`),
    redis.zcard(`${queue}:prioritized`),
    redis.zcount(`${queue}:delayed`, '-inf', (now + 1) * delayOrders - 1),
  ])
  return { prefix, jobs: counts.reduce((total, jobs) => total + jobs, 0), isPaused: paused === 1 }
}

/** Refusals that may end by themselves: there is room in the mailbox, or the step that opens the ask is recorded. */
const mayPass = new Set<string>(['mailbox_full', 'ask_not_found'])

/** The error that BullMQ records. It applies the producer's attempts and back-off where a later attempt may be accepted. */
function refusal(error: unknown): Error {
  if (!(error instanceof RuntimeError)) return new UnrecoverableError(redactSentence(String(error)))
  const reason = redactSentence(`${error.code}: ${error.message}`)
  return mayPass.has(error.code) ? new Error(reason) : new UnrecoverableError(reason)
}

/**
 * How long such a job waits, as its producer asked, but within bounds: without them, thousands of attempts a second would load
 * the Redis, and a wait that BullMQ cannot store would bring the job to a node again and again. BullMQ throws for a back-off that it does
 * not know and records nothing, so it gets a plain number of ours.
 */
function retryMsOf({ opts: { backoff }, attemptsMade }: Job): number {
  const { submitRetryMsMin: least, submitRetryMsMax: most } = policy
  const { type, delay, jitter } = (backoff ?? {}) as Partial<BackoffOptions>
  const isKnown = (type === 'fixed' || type === 'exponential') && typeof delay === 'number' && delay >= 0
  if (!isKnown) return least
  const full = type === 'fixed' ? delay : delay * 2 ** attemptsMade
  const part = typeof jitter === 'number' && jitter > 0 && jitter <= 1 ? jitter * Math.random() : 0
  const asked = Math.min(full, most) * (1 - part)
  return Math.round(Math.max(least, asked))
}

function keyOf(job: Job): string {
  const id = job.id ?? ''
  return /^\d+$/.test(id) ? `submit:${id}:${job.timestamp}` : `submit:${id}`
}
