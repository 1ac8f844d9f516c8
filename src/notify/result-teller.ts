/**
 * Duty: send notices to where they go: into a queue or to an address that the creator of a session named, and to endpoints.
 * TELL-1 Telling twice has the effect of once: a sweep tells again what a node that died may have told.
 * TELL-2 A node takes part in sending requests from when it has secrets, or knows of an endpoint. Other nodes have no connection for it.
 */
import type { Redis } from 'ioredis'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { ConfigError, ConflictError } from '../core/errors.ts'
import { rememberSecret } from '../core/secret/known-secrets.ts'
import type { EndpointRecord } from '../core/webhook/endpoint.ts'
import type { Notify } from '../core/worker/notify.ts'
import { Deliveries } from './deliveries.ts'
import { type LentConnection, ResultQueues } from './result-queues.ts'
import type { SessionNotice } from './session-notice.ts'
import { checkSecrets } from './signature.ts'

export interface WebhookSettings {
  /**
   * `whsec_…`: each request that a session asked for (`notify: { url }`) is signed with all of them, so that one can be replaced. Without any,
   * this node sends no such requests. Endpoints have secrets of their own.
   */
  readonly secrets?: readonly string[] | undefined
  /** Sends requests to addresses of this machine and of private networks too. Default: no. */
  readonly allowPrivateAddresses?: boolean | undefined
  /** The pause before a request is made again; doubled for each further one. Default 20 s. */
  readonly retryMs?: number | undefined
}

/** Connections for BullMQ, to where keys with a tag or a prefix are. */
export interface QueueConnections {
  /** For troupe's own queues; the caller closes it. */
  readonly own: (tag: string) => Redis
  /** For a queue that somebody else named. */
  readonly lend: (prefix: string) => LentConnection
}

export class ResultTeller {
  readonly #queues: ResultQueues
  readonly #openDeliveries: () => Deliveries
  readonly #hasSecrets: boolean
  #deliveries: Deliveries | undefined
  #isOver = false

  /** `prefix`: the prefix of troupe's own queues. */
  constructor(
    { own, lend }: QueueConnections,
    { tag, prefix, isCluster }: { readonly tag: string; readonly prefix: string; readonly isCluster: boolean },
    { secrets = [], allowPrivateAddresses = false, retryMs = 20_000 }: WebhookSettings,
    endpointOf: (id: string) => Promise<EndpointRecord | null>,
    log: Pick<WorkerLog, 'warn'>,
  ) {
    checkSecrets(secrets)
    // The variable may hold several, and is known as a whole alone.
    for (const secret of secrets) rememberSecret(secret)
    this.#queues = new ResultQueues(lend, isCluster)
    this.#hasSecrets = secrets.length > 0
    const options = { secrets, allowPrivateAddresses, retryMs, endpointOf }
    this.#openDeliveries = () => new Deliveries(own(tag), prefix, options, log)
    if (this.#hasSecrets) this.takePart()
  }

  /** Takes part in sending requests (TELL-2). Does nothing more once this was stopped. */
  takePart(): void {
    if (!this.#isOver) this.#deliveries ??= this.#openDeliveries()
  }

  #taking(): Deliveries {
    this.takePart()
    if (this.#deliveries === undefined) throw new ConflictError('client_closed', 'this node stops, and tells no more.')
    return this.#deliveries
  }

  /** Takes the result of a session where the session says. `id`: the id of the notice, so that a repetition is recognised. */
  async tell(notify: Notify, id: string, notice: SessionNotice): Promise<void> {
    if ('queue' in notify) return this.#queues.add(notify, id, notice)
    if (!this.#hasSecrets)
      throw new ConfigError(
        `it goes to ${new URL(notify.url).host}, and this node has no secret to sign the request with: set webhooks.secrets or TROUPE_WEBHOOK_SECRET.`,
      )
    await this.#taking().add({ url: notify.url }, id, { type: notice.type, body: JSON.stringify(notice) })
  }

  async tellEndpoint(webhook: string, id: string, notice: { readonly type: string; readonly body: string }) {
    await this.#taking().add({ webhook }, id, notice)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.allSettled([this.#queues.stop(), this.#deliveries?.stop()])
  }
}
