/** The queue of requests that tell of what happened, as programs see it: what is sent by hand, and a queue that somebody paused. */
import { Queue } from 'bullmq'
import { expect, test } from 'vitest'
import { Deliveries } from '../../src/notify/deliveries.ts'
import { DeliveryQueue, queueName } from '../../src/notify/delivery-queue.ts'
import { partitionKeys, tagOf } from '../../src/store/keys.ts'
import { endRedis, openRedis } from '../../src/store/redis/redis.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { Receiver } from './support/receiver.ts'

/** One delivery that waits for its next attempt. */
async function retrying(troupe: TestTroupe) {
  const { redis, namespace } = troupe
  const { queuePrefix: prefix } = partitionKeys(tagOf(namespace, 0))
  const queue = new Queue(queueName, { connection: redis, prefix })
  const { id = '' } = await queue.add('webhook.test', { webhook: 'w', body: '{}' }, { delay: 3_600_000, jobId: 'w.1' })
  return { id, queue, deliveries: new DeliveryQueue(redis, prefix) }
}

test('a delivery is sent once more by a call that is sent again because its answer was lost', async () => {
  await using troupe = await TestTroupe.connect()
  const { id, queue, deliveries } = await retrying(troupe)
  await expect(deliveries.redeliver(id, 'failed')).rejects.toThrow(/changed in the meantime/)
  for (const _ of ['first', 'again']) await deliveries.redeliver(id, 'retrying')
  expect(await deliveries.get(id)).toMatchObject({ state: 'waiting' })
  await Promise.all([queue.close(), deliveries.close()])
})

test('a node that has no secret sends nothing, and leaves the request to others', async () => {
  await using troupe = await TestTroupe.connect()
  const { redis, namespace } = troupe
  const { queuePrefix: prefix } = partitionKeys(tagOf(namespace, 0))
  await using receiver = new Receiver()
  const url = await receiver.listen()
  const options = { secrets: [], allowPrivateAddresses: true, retryMs: 1, endpointOf: async () => null }
  const connection = openRedis(troupe.redisUrl)
  const deliveries = new Deliveries(connection, prefix, options, { warn() {} })
  await deliveries.add({ url }, 'one', { type: 'session.completed', body: '{}' })
  const queue = new DeliveryQueue(redis, prefix)
  await waitUntil('it waits', async () => (await queue.get('one'))?.state === 'retrying')
  expect(receiver.received).toEqual([])
  expect((await queue.get('one'))?.nextAt).toBeGreaterThan(Date.now() + 5_000)
  await Promise.all([deliveries.stop(), queue.close()])
  endRedis(connection)
})

test('health says that the queue of deliveries is paused, and how many requests wait', async () => {
  await using troupe = await TestTroupe.connect()
  const { queue, deliveries } = await retrying(troupe)
  const seen = async () => (await troupe.client.health()).pausedDeliveries
  expect(await seen()).toBeNull()
  await queue.pause()
  await queue.add('webhook.test', { webhook: 'w', body: '{}' })
  expect(await seen()).toBe(2)
  // An older BullMQ that pauses the queue puts them here.
  await troupe.redis.rename(queue.toKey('wait'), queue.toKey('paused'))
  expect(await seen()).toBe(2)
  await queue.resume()
  expect(await seen()).toBeNull()
  await Promise.all([queue.close(), deliveries.close()])
})

test('a delivery that waits says when its next attempt is, in a list and by itself', async () => {
  await using troupe = await TestTroupe.connect()
  const { id, queue, deliveries } = await retrying(troupe)
  const rows = [...(await deliveries.list({ limit: 10 })), await deliveries.get(id)]
  expect(rows).toHaveLength(2)
  for (const row of rows) expect(Math.abs((row?.nextAt ?? 0) - (row?.createdAt ?? 0) - 3_600_000)).toBeLessThan(1_000)
  await Promise.all([queue.close(), deliveries.close()])
})

test('a delivery of an endpoint is found behind a thousand of others, and not one of an endpoint whose id begins like it', async () => {
  await using troupe = await TestTroupe.connect()
  const { queue, deliveries } = await retrying(troupe)
  for (const jobId of ['w.2', 'w2.1']) await queue.add('webhook.test', { webhook: 'w', body: '{}' }, { jobId })
  await troupe.redis.lpush(queue.toKey('wait'), ...Array.from({ length: 1_500 }, (_, nth) => `other.${nth}`))
  const found = await deliveries.list({ webhookId: 'w', state: 'waiting', limit: 5 })
  expect(found.map(({ id }) => id)).toEqual(['w.2'])
  await Promise.all([queue.close(), deliveries.close()])
})
