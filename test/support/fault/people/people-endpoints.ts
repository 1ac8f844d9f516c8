/** Endpoints that people register, change and remove, and what is known of each: since when it must be told, and when it must not. */
import type { NoticeType, Webhook } from '../../../../src/client/webhook/webhook.ts'
import type { EndpointReceiver } from './endpoint-receiver.ts'
import type { People } from './people.ts'

const endpointsMost = 6
/** A request that was under way when its endpoint was disabled or removed has come by then, also from a node that stood still. */
const graceMs = 10_000
const always: readonly NoticeType[] = ['session.completed', 'session.failed', 'session.cancelled']
const more: readonly NoticeType[] = ['ask.opened', 'approval.requested', 'message.deadLettered']

interface Quiet {
  readonly from: number
  to: number
}

export interface KnownEndpoint {
  readonly id: string
  readonly path: string
  readonly types: Webhook['types']
  readonly kinds: Webhook['kinds']
  readonly include: Webhook['include']
  /** All that it had. */
  readonly secrets: string[]
  /** Since when it is surely told; null if it may not be. */
  toldSince: number | null
  /** When nothing may come. */
  readonly quiet: Quiet[]
  isRemoved: boolean
  /** One change at a time, so that its state is known. */
  isChanging: boolean
}

export class PeopleEndpoints {
  readonly all: KnownEndpoint[] = []
  readonly receiver: EndpointReceiver
  #added = 0

  constructor(receiver: EndpointReceiver) {
    this.receiver = receiver
  }

  async add(people: People): Promise<void> {
    if (this.#current().length >= endpointsMost) return
    const path = `/${++this.#added}`
    const types = people.one<readonly NoticeType[]>([always, always, [...always, ...more], more, [people.one(always)]])
    const kinds = people.chance(0.3) ? ['clerk', 'chain', 'desk'] : undefined
    const include = people.one(['ids', 'result'] as const)
    const asked = { url: this.receiver.urlOf(path), types, kinds, include }
    const { id, secret } = await people.client.webhooks.add({ ...asked, idempotencyKey: `endpoint ${path}` })
    const known = { id, path, types, kinds: kinds ?? null, include, secrets: [secret] }
    this.all.push({ ...known, toldSince: Date.now(), quiet: [], isRemoved: false, isChanging: false })
  }

  #current(): KnownEndpoint[] {
    return this.all.filter(({ isRemoved, isChanging }) => !isRemoved && !isChanging)
  }

  async change(people: People): Promise<void> {
    const free = this.#current()
    if (free.length === 0) return
    const endpoint = people.one(free)
    const { webhooks } = people.client
    endpoint.isChanging = true
    try {
      await people.one([
        () => this.#silence(endpoint, () => webhooks.disable(endpoint.id)),
        () => this.#enable(endpoint, () => webhooks.enable(endpoint.id)),
        () => this.#enable(endpoint, () => webhooks.enable(endpoint.id)),
        async () => {
          endpoint.secrets.push((await webhooks.rotate(endpoint.id, { atOnce: people.chance(0.3) })).secret)
        },
        () => webhooks.test(endpoint.id),
        () => (people.chance(0.3) ? this.#remove(endpoint, () => webhooks.remove(endpoint.id)) : webhooks.list()),
      ])()
    } finally {
      endpoint.isChanging = false
    }
  }

  async #silence(endpoint: KnownEndpoint, change: () => Promise<unknown>): Promise<void> {
    endpoint.toldSince = null
    await change()
    endpoint.quiet.push({ from: Date.now() + graceMs, to: Number.POSITIVE_INFINITY })
  }

  async #enable(endpoint: KnownEndpoint, change: () => Promise<unknown>): Promise<void> {
    // It may have been disabled more than once.
    for (const quiet of endpoint.quiet) quiet.to = Math.min(quiet.to, Date.now())
    await change()
    endpoint.toldSince ??= Date.now()
  }

  async #remove(endpoint: KnownEndpoint, change: () => Promise<unknown>): Promise<void> {
    endpoint.isRemoved = true
    await this.#silence(endpoint, change)
  }

  /** Some of the newest deliveries are sent once more. */
  async redeliver(people: People): Promise<void> {
    const some = await people.client.webhooks.deliveries({ limit: 20 })
    if (some.length > 0) await people.client.webhooks.redeliver(people.one(some).id)
  }
}
