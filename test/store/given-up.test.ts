/** Commands that wait while Redis is away: nobody waits for them for ever, and what is given up is not sent when it is back. */
import { expect, test } from 'vitest'
import { openRedis, type Redis } from '../../src/store/redis.ts'
import { RedisServer } from '../support/redis-server.ts'
import { waitUntil } from '../support/wait-until.ts'

const ask = (redis: Redis) => [redis.get('any'), redis.pipeline().get('one').strlen('other').exec()]

test('are taken out, a pipeline as a whole, and the connection goes on as before (Y-b)', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  const redis = openRedis(server.url, 200)
  await redis.ping()
  for (const count of [20, 40]) {
    await server.kill()
    await waitUntil('the connection is lost', () => redis.status === 'reconnecting')
    const asked = Array.from({ length: count }, () => ask(redis)).flat()
    const answers = (await Promise.allSettled(asked)).map((answer) =>
      answer.status === 'fulfilled' ? answer.value : String(answer.reason),
    )
    const error = expect.objectContaining({ message: 'no answer within 200 ms' })
    const [alone, ofPipeline] = ['Error: no answer within 200 ms', [[error], [error]]]
    expect(answers).toEqual(Array.from({ length: count }, () => [alone, ofPipeline]).flat())
    await server.restart()
    const stats = await waitUntil('it answers', () => redis.info('commandstats'))
    expect(stats).not.toMatch(/^cmdstat_(?:get|strlen):/m)
    await redis.mset('any', 'a', 'one', 'b', 'other', 'cc')
    expect(await Promise.all(ask(redis))).toEqual([
      'a',
      [
        [null, 'b'],
        [null, 2],
      ],
    ])
  }
  redis.disconnect()
})
