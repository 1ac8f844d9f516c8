/** Calls of a client while Redis is away: each ends in time, and nothing is left of those that were given up. */
import { expect, test } from 'vitest'
import { connectInternal, type InternalConnectOptions } from '../../../src/client/client.ts'
import { newId } from '../../../src/core/ids.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { newNamespace } from '../../support/namespace.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** A client that gives up soon what has no answer. A busy machine may need longer to connect it. */
function connected(options: Pick<InternalConnectOptions, 'redisUrl' | 'partitions'>) {
  const all = { ...options, namespace: newNamespace(), deadlineMs: 500 }
  return waitUntil('it is connected', () => connectInternal(all).catch(() => null))
}

test('calls that were given up are not made when Redis is back, however many there were', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  await using client = await connected({ redisUrl: server.url })
  const refused = { code: 'store_unavailable' }
  await server.kill()
  await expect(client.nodes()).rejects.toMatchObject(refused)
  const sent = Array.from({ length: 40 }, () => client.workers.get(newId(0)).send('late'))
  for (const sending of sent) await expect(sending).rejects.toMatchObject(refused)
  // These calls take longer than the connection keeps the calls that were made before them.
  for (let times = 0; times < 3; times++) await expect(client.nodes()).rejects.toMatchObject(refused)
  await server.restart()
  await waitUntil('the client is answered', () => client.nodes().catch(() => null))
  // The connection has sent the calls that it kept.
  const redis = openRedis(server.url)
  expect(await redis.info('commandstats')).not.toMatch(/^cmdstat_fcall:/m)
  redis.disconnect()
})

test('a look at deliveries or at a worker ends in time while Redis stands still, and names the partition', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  await using client = await connected({ redisUrl: server.url, partitions: 2 })
  const none = await waitUntil('it is answered', () => client.webhooks.deliveries().catch(() => null))
  expect(none).toEqual([])
  server.freeze()
  const [list, one] = [client.webhooks.deliveries(), client.webhooks.delivery('x')]
  for (const call of [list, one]) await expect(call).rejects.toMatchObject({ code: 'store_unavailable' })
  const message = expect.stringMatching(/^Redis cannot be reached \(reading \w+ of partition 1: no answer/)
  await expect(client.workers.get(newId(1)).report()).rejects.toMatchObject({ message })
  server.thaw()
})
