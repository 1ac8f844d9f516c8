/** What a node does with each request that tells of something: how often it is tried, what is kept and logged of it, and when it ends. */
import { type JobsOptions, Queue } from 'bullmq'
import { expect, test } from 'vitest'
import { withoutKnownSecrets } from '../../src/core/secret/known-secrets.ts'
import type { EndpointRecord } from '../../src/core/webhook/endpoint.ts'
import { Deliveries, type DeliveriesOptions } from '../../src/notify/deliveries.ts'
import { DeliveryQueue, queueName } from '../../src/notify/delivery-queue.ts'
import { partitionKeys, tagOf } from '../../src/store/keys.ts'
import { endRedis, openRedis } from '../../src/store/redis/redis.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { Receiver } from './support/receiver.ts'

const secretOf = (letter: string) => `whsec_${Buffer.alloc(32, letter).toString('base64')}`

/** A node's part in sending requests, with its queue in reach, and what it logs. */
class Sender implements AsyncDisposable {
  readonly troupe: TestTroupe
  readonly deliveries: DeliveryQueue
  readonly queue: Queue
  readonly logged: object[] = []
  readonly #prefix: string
  readonly #stops: (() => Promise<unknown>)[] = []

  private constructor(troupe: TestTroupe) {
    this.troupe = troupe
    this.#prefix = partitionKeys(tagOf(troupe.namespace, 0)).queuePrefix
    this.deliveries = new DeliveryQueue(troupe.redis, this.#prefix)
    this.queue = new Queue(queueName, { connection: troupe.redis, prefix: this.#prefix })
  }

  static async open(): Promise<Sender> {
    return new Sender(await TestTroupe.connect())
  }

  start(options: Partial<DeliveriesOptions> = {}): Deliveries {
    const connection = openRedis(this.troupe.redisUrl)
    const settings = {
      secrets: [secretOf('a')],
      allowPrivateAddresses: true,
      retryMs: 3_600_000,
      endpointOf: async () => null,
    }
    const log = { warn: (_: string, fields: object = {}) => void this.logged.push(fields) }
    const started = new Deliveries(connection, this.#prefix, { ...settings, ...options }, log)
    this.#stops.push(() => started.stop().then(() => endRedis(connection)))
    return started
  }

  isIn(id: string, state: string) {
    return waitUntil(`${id} is ${state}`, async () => (await this.deliveries.get(id))?.state === state)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) await stop()
    await Promise.all([this.queue.close(), this.deliveries.close()])
    await this.troupe[Symbol.asyncDispose]()
  }
}

const notice = { type: 'session.completed', body: '{}' }

test('a request is tried ten times over about three hours, one that a person asks for once; both are kept for days', async () => {
  await using sender = await Sender.open()
  await sender.queue.pause()
  await sender.start({ retryMs: 20_000 }).add({ url: 'http://127.0.0.1:1/' }, 'one', notice)
  const tested = await sender.deliveries.add('w', 'test-1', notice)
  const [opts, once] = (await Promise.all(['one', tested].map((id) => sender.queue.getJob(id)))).map((job) => job?.opts)
  const { attempts = 0, backoff, ...kept } = opts as JobsOptions
  const { delay = 0, type } = backoff as { readonly delay?: number; readonly type: string }
  expect([type, attempts, once?.attempts]).toEqual(['exponential', 10, 1])
  const hours = (delay * (2 ** (attempts - 1) - 1)) / 3_600_000
  expect(hours).toBeGreaterThan(2.5)
  expect(hours).toBeLessThan(3.5)
  const [week, month] = [7, 30].map((days) => ({ age: days * 86_400, count: 10_000 }))
  for (const one of [kept, once]) expect(one).toMatchObject({ removeOnComplete: week, removeOnFail: month })
})

test('the log and the list name the host of an address that a session names, and no more of it', async () => {
  await using sender = await Sender.open()
  await using receiver = new Receiver()
  const { host, origin } = new URL(await receiver.listen(500))
  await sender.start().add({ url: `${origin}/in-the-path?in=the-query` }, 'one', notice)
  await sender.isIn('one', 'retrying')
  await waitUntil('it is logged', () => sender.logged.length > 0)
  expect(sender.logged).toEqual([{ delivery: 'one', host, attempt: 1, error: `${host} answered with status 500` }])
  const [row] = await sender.deliveries.list({ limit: 10 })
  expect(row).toMatchObject({ host, webhookId: null })
  expect(JSON.stringify(row)).not.toMatch(/in-the-path|the-query/)
})

test('nodes that die while they send a request cost it no attempt, however many they are (DELIVERY-2)', async () => {
  await using sender = await Sender.open()
  await using receiver = new Receiver()
  const url = await receiver.listen()
  const { redis } = sender.troupe
  await sender.queue.add(notice.type, { url, body: notice.body }, { jobId: 'one', attempts: 10 })
  // Leaves Redis as if its third node had just died.
  await redis.lrem(sender.queue.toKey('wait'), 1, 'one')
  await redis.lpush(sender.queue.toKey('active'), 'one')
  await redis.sadd(sender.queue.toKey('stalled'), 'one')
  await redis.hset(sender.queue.toKey('one'), 'stc', 3)
  sender.start()
  const ended = await waitUntil('it ends', async () => {
    const row = await sender.deliveries.get('one')
    return row?.finishedAt != null && row
  })
  expect(ended).toMatchObject({ state: 'delivered', attempts: 1 })
  expect(receiver.received).toHaveLength(1)
})

test('a request that has failed for good gets all its attempts anew when somebody sends it once more', async () => {
  await using sender = await Sender.open()
  await sender.start().add({ webhook: 'w' }, 'one', notice)
  await sender.isIn('w.one', 'failed')
  expect(await sender.deliveries.get('w.one')).toMatchObject({ attempts: 1, reason: 'its endpoint was removed' })
  await sender.queue.pause()
  await sender.deliveries.redeliver('w.one', 'failed')
  expect(await sender.deliveries.get('w.one')).toMatchObject({ state: 'waiting', attempts: 0 })
})

test('no log of the node that signs a request repeats the secret of the endpoint', async () => {
  await using sender = await Sender.open()
  await using receiver = new Receiver()
  const [secret, former] = [secretOf('b'), secretOf('c')]
  const record = {
    url: await receiver.listen(),
    secret,
    previous: [{ secret: former, until: Infinity }],
    isEnabled: true,
  }
  await sender
    .start({ endpointOf: async () => record as unknown as EndpointRecord })
    .add({ webhook: 'w' }, 'one', notice)
  await waitUntil('it is sent', () => receiver.received.length === 1)
  expect(withoutKnownSecrets(`${secret} ${former}`)).toBe('[redacted] [redacted]')
})

test('an endpoint fails as long as its last request did, and one that is tried again counts before that', async () => {
  await using sender = await Sender.open()
  const { redis } = sender.troupe
  const key = (name: string) => sender.queue.toKey(name)
  const failing = async () => (await sender.deliveries.health()).get('w')?.failing
  await redis.zadd(key('failed'), 5, 'w.1')
  await redis.hset(key('w.1'), 'failedReason', 'no luck')
  expect(await failing()).toEqual({ retrying: 0, reason: 'no luck' })
  await redis.zadd(key('completed'), 6, 'w.2')
  expect(await failing()).toBeNull()
  await redis.zadd(key('delayed'), 7, 'w.3', 8, 'w.4')
  expect(await failing()).toEqual({ retrying: 2, reason: null })
})
