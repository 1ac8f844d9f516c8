/**
 * Duty: take the result of a session that has ended where its creator said: into a queue, or to an address.
 * TELL-1 Telling twice has the effect of once: a sweep tells again what a node that died may have told.
 */
import type { Redis } from 'ioredis'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { ConfigError } from '../core/errors.ts'
import { rememberSecret } from '../core/secret/known-secrets.ts'
import type { Notify } from '../core/worker/notify.ts'
import { Deliveries } from './deliveries.ts'
import { ResultQueues } from './result-queues.ts'
import type { SessionNotice } from './session-notice.ts'
import { checkSecrets } from './signature.ts'

export interface WebhookSettings {
  /** `whsec_…`: each request is signed with all of them, so that one can be replaced. Without any, this node sends no requests. */
  readonly secrets: readonly string[]
  /** Send requests to addresses of this machine and of private networks too. Default: no. */
  readonly allowPrivateAddresses?: boolean | undefined
  /** The pause before a request is made again; doubled for each further one. Default 20 s. */
  readonly retryMs?: number | undefined
}

export class ResultTeller {
  readonly #queues: ResultQueues
  readonly #deliveries: Deliveries | null

  /** `queueAt`: a connection for BullMQ, to where the keys with this tag or prefix are; the caller closes it. `prefix`: of troupe's own queues. */
  constructor(
    queueAt: (tag: string) => Redis,
    { tag, prefix, isCluster }: { readonly tag: string; readonly prefix: string; readonly isCluster: boolean },
    { secrets, allowPrivateAddresses = false, retryMs = 20_000 }: WebhookSettings,
    log: Pick<WorkerLog, 'warn'>,
  ) {
    checkSecrets(secrets)
    // The variable may hold several, and is known as a whole alone.
    for (const secret of secrets) rememberSecret(secret)
    this.#queues = new ResultQueues(queueAt, isCluster)
    const options = { secrets, allowPrivateAddresses, retryMs }
    this.#deliveries = secrets.length === 0 ? null : new Deliveries(queueAt(tag), prefix, options, log)
  }

  /** `id`: of the notice, so that what was told before is known. */
  async tell(notify: Notify, id: string, notice: SessionNotice): Promise<void> {
    if ('queue' in notify) return this.#queues.add(notify, id, notice)
    if (this.#deliveries === null)
      throw new ConfigError(
        `it goes to ${new URL(notify.url).host}, and this node has no secret to sign the request with: set webhooks.secrets or TROUPE_WEBHOOK_SECRET.`,
      )
    await this.#deliveries.add(notify.url, id, notice)
  }

  async stop(): Promise<void> {
    await Promise.allSettled([this.#queues.stop(), this.#deliveries?.stop()])
  }
}
