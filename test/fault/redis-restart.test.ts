/** F16, K15: Redis is killed and started again while sessions run. With `appendfsync always` nothing acknowledged is lost. */
import { expect, test } from 'vitest'
import { type TreeInput, treeResult } from '../programs/fault-kinds.ts'
import { isLong, withSeed } from '../support/fault-settings.ts'
import { Harness } from '../support/harness.ts'
import { expectInvariants } from '../support/oracle.ts'
import { RedisServer } from '../support/redis-server.ts'

const tree: TreeInput = { children: 5, steps: 4, stepMs: 200 }
const kills = isLong ? 20 : 3
const perKill = 6

test.concurrent(
  'sessions that Redis acknowledged end with the right result although it is killed in between',
  { timeout: 180_000 },
  () =>
    withSeed(async (random) => {
      await using server = await RedisServer.start()
      await using harness = await Harness.open({ redisUrl: server.url })
      const nodes = await Promise.all([harness.start('a'), harness.start('b')])
      const results: Promise<unknown>[] = []
      for (let kill = 0; kill < kills; kill++) {
        const created = await Promise.all(
          Array.from({ length: perKill }, (_, number) =>
            harness.client.sessions.create({ kind: 'tree', input: tree, idempotencyKey: `tree ${kill} ${number}` }),
          ),
        )
        for (const session of created) results.push(session.result({ signal: AbortSignal.timeout(60_000) }))
        await new Promise((resolve) => setTimeout(resolve, 600 * random()))
        await server.kill()
        await new Promise((resolve) => setTimeout(resolve, 300 * random()))
        await server.restart()
      }
      for (const result of await Promise.all(results))
        expect(result).toMatchObject({ status: 'completed', value: treeResult(tree) })
      expect(nodes.map((node) => node.isGone)).toEqual([false, false])
      const { workers, dead } = await expectInvariants(harness.redis, harness.namespace)
      expect(workers.size).toBe(kills * perKill * (tree.children + 1))
      expect(dead).toEqual([])
    }),
)

test.concurrent('a node and a client whose Redis is away for good can be told to stop', {
  timeout: 60_000,
}, async () => {
  await using server = await RedisServer.start()
  await using harness = await Harness.open({ redisUrl: server.url })
  const node = await harness.start('a')
  await (await harness.client.sessions.create({ kind: 'echo', input: 1 })).result()
  await server.kill()
  const patience = new Promise((resolve) => setTimeout(() => resolve('still running'), 15_000).unref())
  expect(await Promise.race([node.stop(), patience])).toBe(0)
  expect(await Promise.race([harness.client.close(), patience])).toBeUndefined()
})
