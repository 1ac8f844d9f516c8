/** Calls that a client gave up while Redis was away: nothing of them is left. */
import { expect, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import { newId } from '../../../src/core/ids.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { newNamespace } from '../../support/namespace.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { waitUntil } from '../../support/wait-until.ts'

test('calls that were given up are not made when Redis is back, however many there were', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  await using client = await connectInternal({ redisUrl: server.url, namespace: newNamespace(), deadlineMs: 500 })
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
