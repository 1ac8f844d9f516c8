/** F16, K15: Redis is killed and started again while sessions run. With `appendfsync always` nothing acknowledged is lost. */
import { expect, test } from 'vitest'
import { redisKillRow } from '../../faults/rows/redis/redis-restart.ts'
import { Harness } from '../../support/fault/harness.ts'
import { testRow } from '../../support/fault/row-tests.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'

testRow(redisKillRow)

test.concurrent('a node and a client stop even if their Redis never comes back', async () => {
  await using server = await RedisServer.start()
  await using harness = await Harness.open({ redisUrl: server.url })
  const node = await harness.start('a')
  await (await harness.client.sessions.create({ kind: 'echo', input: 1 })).result()
  await server.kill()
  const patience = new Promise((resolve) => setTimeout(() => resolve('still running'), 25_000).unref())
  expect(await Promise.race([node.stop(), patience])).toBe(0)
  expect(await Promise.race([harness.client.close(), patience])).toBeUndefined()
})
