/**
 * Duty: `troupe.webhooks`: endpoints that are told of what happens in the namespace, and the deliveries to them.
 * WEBHOOKS-1 A secret is returned once, by the call that makes it; a repetition of that call under its key returns it too. No list, error, log or
 * event holds a secret.
 * WEBHOOKS-2 A new endpoint listens before it is in the register, and one that is removed leaves the register first: an endpoint that is listed
 *    as enabled misses nothing. Whoever changes an endpoint makes sure that it listens as its record says, even if somebody else changes it meanwhile.
 */
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { checkOptions } from '../../core/check/check-options.ts'
import { ConflictError, InputError, NotFoundError, TransientError } from '../../core/errors.ts'
import { keyedWebhookId, newId, parseId } from '../../core/ids.ts'
import { policy } from '../../core/policy.ts'
import { rememberSecret } from '../../core/secret/known-secrets.ts'
import type { EndpointRecord } from '../../core/webhook/endpoint.ts'
import { noticeTypes, noticeTypesAtStart } from '../../core/webhook/notice.ts'
import { DeliveryQueue, type DeliveryRow } from '../../notify/delivery-queue.ts'
import { checkWrittenAddress } from '../../notify/public-address.ts'
import type { EndpointStore, StoredEndpoint } from '../../store/endpoint-store.ts'
import type { OpenPlace } from '../../store/places.ts'
import { guarded } from '../../store/redis/guarded.ts'
import {
  type AddWebhook,
  addRules,
  type DeliveriesQuery,
  type Delivery,
  type DeliveryDetails,
  deliveriesRules,
  type RotateWebhook,
  rotateRules,
  type Webhook,
  type WebhookWithSecret,
} from './webhook.ts'

export interface WebhooksSettings {
  readonly store: EndpointStore
  /** The partition that has the queue of deliveries. */
  readonly first: OpenPlace
  /** Looks whether there are more partitions by now: an endpoint listens in all of them. */
  readonly learn: () => Promise<void>
  readonly actor: string | undefined
  /** How long a call may take while Redis is away. */
  readonly deadlineMs: number
  readonly allowPrivateAddresses: boolean
}

/** How long a secret that was replaced is valid beside the new one. */
const previousMs = 24 * 3_600_000
const previousMost = 5
/** How often a change is begun again after it met another change. */
const changesTried = 5

export class Webhooks {
  readonly #o: WebhooksSettings
  #opened: DeliveryQueue | undefined

  constructor(settings: WebhooksSettings) {
    this.#o = settings
  }

  /** BullMQ waits for Redis without an end. */
  #ask<Answer>(doing: string, ask: (queue: DeliveryQueue) => Promise<Answer>): Promise<Answer> {
    const { first, deadlineMs } = this.#o
    this.#opened ??= new DeliveryQueue(first.redis, first.prefix)
    const queue = this.#opened
    return guarded(doing, () => ask(queue), deadlineMs)
  }

  #health(): ReturnType<DeliveryQueue['health']> {
    return this.#ask('reading how endpoints do', (queue) => queue.health())
  }

  /** Registers an address. It gets notices of what happens from now on. The answer has its secret, which no other call shows. */
  async add(settings: AddWebhook): Promise<WebhookWithSecret> {
    checkOptions('webhooks.add', settings, addRules, InputError)
    const { url, types = noticeTypesAtStart, kinds, names, include = 'ids', idempotencyKey } = settings
    const { store, actor = null, allowPrivateAddresses } = this.#o
    const address = new URL(url)
    if (!allowPrivateAddresses) checkWrittenAddress(address)
    const id = idempotencyKey === undefined ? newId(0) : keyedWebhookId(idempotencyKey)
    const secret = newSecret()
    const record: EndpointRecord = {
      url: address.href,
      types: noticeTypes.filter((type) => types.includes(type)),
      kinds: kinds ?? null,
      names: names ?? null,
      include,
      secret,
      previous: [],
      isEnabled: true,
      createdAt: await store.now(),
      createdBy: actor,
      changedAt: null,
      changedBy: null,
    }
    await this.#o.learn()
    await store.listen(id, true)
    const answer = await store.write(id, null, record, policy.endpointsMax)
    if (answer === 'changed') return this.#addedBefore(id, record)
    if (answer === 'full') {
      await store.listen(id, false)
      throw new ConflictError(
        'transition_illegal',
        `there are ${policy.endpointsMax} endpoints, which is as many as a namespace may have: remove one with troupe webhook remove.`,
      )
    }
    // Partitions that were added meanwhile may not know of it.
    await this.#listenAsStored(id)
    return { ...webhookOf({ id, record }), secret }
  }

  /** The answer that the call which added it under the same key has given. */
  async #addedBefore(id: string, asked: EndpointRecord): Promise<WebhookWithSecret> {
    // The endpoint may be disabled by now, and this call has made it listen.
    await this.#listenAsStored(id)
    const { record } = await this.#find(id)
    const { secret, createdAt, createdBy, changedAt } = record
    if (!isDeepStrictEqual({ ...asked, secret, createdAt, createdBy }, record))
      throw new ConflictError(
        'transition_illegal',
        changedAt === null
          ? `endpoint ${id} was added under this idempotency key with other settings: choose a new key.`
          : `endpoint ${id} was added under this idempotency key and changed since: troupe webhook rotate ${id} gives it a new secret.`,
      )
    rememberSecret(secret)
    return { ...webhookOf({ id, record }), secret }
  }

  /** All endpoints of the namespace, in the order in which they were added. */
  async list(): Promise<Webhook[]> {
    const endpoints = await this.#o.store.list()
    if (endpoints.length === 0) return []
    const health = await this.#health()
    return endpoints.map((endpoint) => webhookOf(endpoint, health.get(endpoint.id)))
  }

  /** One endpoint. Throws `webhook_not_found`. */
  async get(id: string): Promise<Webhook> {
    return this.#withHealth(await this.#find(id))
  }

  /** Removes an endpoint. Nothing more is sent to it, not even deliveries that are on their way. */
  async remove(id: string): Promise<void> {
    const { id: webhookId } = await this.#change(id, () => null)
    await this.#listenAsStored(webhookId)
  }

  /**
   * Gives it a new secret, which no other call shows. For 24 hours requests are signed with the old one, too, so that its receiver can change to the new
   * one meanwhile, also if it is given another one again. `atOnce: true`: all old ones, which may be known to others, end now.
   */
  async rotate(id: string, options: RotateWebhook = {}): Promise<WebhookWithSecret> {
    checkOptions('webhooks.rotate', options, rotateRules, InputError)
    const secret = newSecret()
    const changed = await this.#change(id, (record, now) => ({
      ...record,
      secret,
      previous: options.atOnce
        ? []
        : [
            { secret: record.secret, until: now + previousMs },
            ...record.previous.filter(({ until }) => until > now),
          ].slice(0, previousMost),
    }))
    return { ...(await this.#withHealth(changed)), secret }
  }

  /** Enables an endpoint: it is told again, of what happens from now on. */
  async enable(id: string): Promise<Webhook> {
    const { id: webhookId } = await this.#find(id)
    await this.#o.learn()
    await this.#o.store.listen(webhookId, true)
    const changed = await this.#change(webhookId, (record) => ({ ...record, isEnabled: true }))
    await this.#listenAsStored(webhookId)
    return this.#withHealth(changed)
  }

  /** Disables an endpoint: it gets nothing until it is enabled. Deliveries that are on their way fail; each can be made again. */
  async disable(id: string): Promise<Webhook> {
    const changed = await this.#change(id, (record) => ({ ...record, isEnabled: false }))
    await this.#listenAsStored(changed.id)
    return this.#withHealth(changed)
  }

  /** Has a node send it a message of the type `webhook.test`, once. `delivery(id)` with the id of the answer says what came of it. */
  async test(id: string): Promise<DeliveryDetails> {
    const endpoint = await this.#find(id)
    if (!endpoint.record.isEnabled) throw isDisabled(endpoint.id, 'test it')
    const at = await this.#o.store.now()
    const type = 'webhook.test'
    const body = JSON.stringify({
      type,
      timestamp: new Date(at).toISOString(),
      data: { webhookId: endpoint.id, path: `/v1/webhooks/${endpoint.id}` },
    })
    const adding = (queue: DeliveryQueue) => queue.add(endpoint.id, `test-${at}`, { type, body })
    const deliveryId = await this.#ask('adding a delivery', adding)
    return this.delivery(deliveryId)
  }

  /** The newest first; also those of sessions that say where their result goes (`notify: { url }`). */
  async deliveries(query: DeliveriesQuery = {}): Promise<Delivery[]> {
    checkOptions('webhooks.deliveries', query, deliveriesRules, InputError)
    const { webhookId, state, limit = 50 } = query
    const id = webhookId === undefined ? undefined : parseId(webhookId, 'webhook')
    const listing = (queue: DeliveryQueue) => queue.list({ webhookId: id, state, limit })
    const found = await this.#ask('reading deliveries', listing)
    // Deliveries to an endpoint that was removed are still kept.
    if (found.length === 0 && id !== undefined) await this.#find(id)
    return found.map(withoutBody)
  }

  /** One delivery, with what is sent. Throws `delivery_not_found`. */
  async delivery(id: string): Promise<DeliveryDetails> {
    return this.#findDelivery(id)
  }

  /** Sends a delivery once more, as the same message, whether it was accepted, failed or waits for another attempt. */
  async redeliver(id: string): Promise<Delivery> {
    const { state, webhookId } = await this.#findDelivery(id)
    if (webhookId !== null) {
      const { record } = await this.#find(webhookId)
      if (!record.isEnabled) throw isDisabled(webhookId, 'deliver it')
    }
    await this.#ask('sending a delivery again', (queue) => queue.redeliver(id, state))
    return withoutBody(await this.#findDelivery(id))
  }

  /** `troupe.close()` calls this. */
  async close(): Promise<void> {
    await this.#opened?.close()
  }

  async #withHealth(endpoint: Pick<StoredEndpoint, 'id' | 'record'>): Promise<Webhook> {
    return webhookOf(endpoint, (await this.#health()).get(endpoint.id))
  }

  async #findDelivery(id: string): Promise<DeliveryRow> {
    if (typeof id !== 'string') throw new InputError('the id of a delivery must be a text.')
    // A delivery may go back to an earlier state while it is looked for: the second look finds it.
    const looking = async (queue: DeliveryQueue) => (await queue.get(id)) ?? (await queue.get(id))
    const found = await this.#ask('reading a delivery', looking)
    if (found !== null) return found
    throw new NotFoundError(
      'delivery_not_found',
      `delivery ${JSON.stringify(id.slice(0, 200))} is not known: troupe webhook deliveries lists those that are kept.`,
    )
  }

  async #find(id: string): Promise<StoredEndpoint> {
    const webhookId = parseId(id, 'webhook')
    const found = await this.#o.store.get(webhookId)
    if (found !== null) return found
    throw new NotFoundError(
      'webhook_not_found',
      `endpoint ${webhookId} is not known: troupe webhook list shows those of the namespace.`,
    )
  }

  /** Makes the endpoint listen as its record says (WEBHOOKS-2). */
  async #listenAsStored(id: string): Promise<void> {
    const { store } = this.#o
    let listens: boolean | undefined
    for (let tried = 0; tried < changesTried; tried++) {
      const isEnabled = (await store.get(id))?.record.isEnabled ?? false
      if (isEnabled === listens) return
      await this.#o.learn()
      await store.listen(id, isEnabled)
      listens = isEnabled
    }
  }

  async #change(
    id: string,
    change: (record: EndpointRecord, now: number) => EndpointRecord | null,
  ): Promise<Pick<StoredEndpoint, 'id' | 'record'>> {
    const { store, actor = null } = this.#o
    const now = await store.now()
    for (let tried = 0; tried < changesTried; tried++) {
      const before = await this.#find(id)
      const changed = change(before.record, now)
      const after = changed && { ...changed, changedAt: now, changedBy: actor }
      const answer = await store.write(before.id, before, after, policy.endpointsMax)
      if (answer === 'ok') return { id: before.id, record: after ?? before.record }
    }
    throw new TransientError(`endpoint ${id} is being changed by others all the time: try again.`, {
      code: 'store_unavailable',
    })
  }
}

function withoutBody(row: DeliveryRow): Delivery {
  const { body: _, ...delivery } = row
  return delivery
}

function newSecret(): string {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  rememberSecret(secret)
  return secret
}

function isDisabled(id: string, what: string): ConflictError {
  return new ConflictError(
    'transition_illegal',
    `endpoint ${id} is disabled: enable it (troupe webhook enable ${id}), then ${what}.`,
  )
}

function webhookOf(
  { id, record }: Pick<StoredEndpoint, 'id' | 'record'>,
  { deliveredAt, failing }: Pick<Webhook, 'deliveredAt' | 'failing'> = { deliveredAt: null, failing: null },
): Webhook {
  const { secret: _, previous, isEnabled, ...settings } = record
  return {
    id,
    ...settings,
    state: !isEnabled ? 'disabled' : failing === null ? 'enabled' : 'failing',
    deliveredAt,
    failing,
    previousSecretUntil: previous[0]?.until ?? null,
  }
}
