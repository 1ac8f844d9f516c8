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
