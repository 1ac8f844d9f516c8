/**
 * Duty: requests that tell of what happened, as BullMQ jobs: tried again with growing pauses until they are accepted, and kept for some days to be
 * looked at. They go where a session says (`notify: { url }`), signed with the secrets of the node, and to endpoints, each with secrets of its own.
 * DELIVERY-1 The id of a job follows from what it tells, and to whom: telling it twice makes one job.
 * DELIVERY-2 A receiver that answers with a status of 2xx has it. Any other answer, and none, is tried again: ten times over about three hours.
 * DELIVERY-3 What an endpoint is now decides where a request goes and how it is signed, not what it was when the job was made: a secret that was
 *    replaced, and an endpoint that was disabled or removed, are not used again.
 * DELIVERY-4 A receiver that accepts nothing holds up no other: what is too much for it comes again later, without an attempt.
 */
import { DelayedError, type Job, type Queue, UnrecoverableError, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { InputError } from '../core/errors.ts'
import { rememberSecret } from '../core/secret/known-secrets.ts'
import { type EndpointRecord, secretsAt } from '../core/webhook/endpoint.ts'
import { type DeliveryJob, jobIdFor, keptJobs, openDeliveryQueue, queueName } from './delivery-queue.ts'
import { Receivers } from './receivers.ts'
import { notAccepted } from './request-failure.ts'
import { type PostOptions, signedPost } from './signed-post.ts'

/** A node that stops waits at most this long for requests under way. BullMQ gives the rest to another node. */
const stopMsMax = 5_000
/** A request that this node cannot sign comes to a node again after this, or up to twice as long. */
const laterMs = 10_000
/** After about this time, or twice as long, another node sends the requests of a node that died. */
const stalledMs = 15_000

export interface DeliveriesOptions extends PostOptions {
  readonly retryMs: number
  /** The endpoint with this id; null if there is none any more. */
  readonly endpointOf: (id: string) => Promise<EndpointRecord | null>
}

export class Deliveries {
  readonly #queue: Queue<DeliveryJob>
  readonly #worker: Worker<DeliveryJob>
  readonly #o: DeliveriesOptions
  readonly #connection: Redis
  readonly #receivers = new Receivers()

  /** `prefix`: the prefix of troupe's own queues. The caller closes the connection. */
  constructor(connection: Redis, prefix: string, options: DeliveriesOptions, log: Pick<WorkerLog, 'warn'>) {
    this.#o = options
    this.#connection = connection
    this.#queue = openDeliveryQueue(connection, prefix)
    this.#worker = new Worker(queueName, (job, token) => this.#deliver(job, token), {
      connection,
      prefix,
      concurrency: 20,
      lockDuration: stalledMs,
      stalledInterval: stalledMs,
      // A node that dies is no attempt: else a second death would end the job (DELIVERY-2).
      maxStalledCount: 1_000_000_000,
    })
    this.#worker.on('error', () => {})
    this.#worker.on('failed', (job, error) => {
      // The log names only the host of the address: the rest of it is often a secret.
      const { url, webhook } = job?.data ?? {}
      const where = webhook === undefined ? { host: URL.parse(String(url))?.host } : { webhook }
      const fields = { delivery: job?.id, ...where, attempt: job?.attemptsMade, error: error.message }
      log.warn('an address did not accept a notice', fields)
    })
  }

  /** `id`: the id of the notice. `webhook`: the endpoint to send it to; without one it goes to the address. */
  async add(
    to: { readonly webhook: string } | { readonly url: string },
    id: string,
    { type, body }: { readonly type: string; readonly body: string },
  ): Promise<void> {
    const jobId = 'webhook' in to ? jobIdFor(to.webhook, id) : id
    const backoff = { type: 'exponential', delay: this.#o.retryMs, jitter: 0.2 } as const
    await this.#queue.add(type, { ...to, body }, { ...keptJobs, attempts: 10, backoff, jobId })
  }

  async #deliver(job: Job<DeliveryJob>, token: string | undefined): Promise<{ status: number }> {
    const { url, secrets } = await this.#targetOf(job.data)
    // This node has no secret: the node that made the job has one.
    const goal = job.data.webhook ?? new URL(url).host
    const inMs = secrets.length === 0 ? laterMs * (1 + Math.random()) : this.#receivers.begin(goal)
    if (inMs !== null) {
      await job.moveToDelayed(Date.now() + Math.round(inMs), token)
      throw new DelayedError()
    }
    let isAccepted = false
    try {
      const status = await signedPost(url, `msg_${job.id}`, job.data.body, { ...this.#o, secrets })
      isAccepted = status >= 200 && status < 300
      if (isAccepted) return { status }
      throw new Error(notAccepted(new URL(url).host, status))
    } catch (thrown) {
      // Another attempt would be refused too.
      if (thrown instanceof InputError) throw new UnrecoverableError(thrown.message)
      throw thrown
    } finally {
      this.#receivers.end(goal, isAccepted)
    }
  }

  /** Where a request goes now, and with what it is signed (DELIVERY-3). */
  async #targetOf({ webhook, url = '' }: DeliveryJob): Promise<{ url: string; secrets: readonly string[] }> {
    if (webhook === undefined) return { url, secrets: this.#o.secrets }
    const endpoint = await this.#o.endpointOf(webhook)
    if (endpoint === null) throw new UnrecoverableError('its endpoint was removed')
    if (!endpoint.isEnabled) throw new UnrecoverableError('its endpoint is disabled')
    const secrets = secretsAt(endpoint, Date.now())
    for (const secret of secrets) rememberSecret(secret)
    return { url: endpoint.url, secrets }
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
