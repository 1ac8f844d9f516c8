/** Commands that wait while Redis is away: nobody waits for them for ever, and what is given up is not sent when it is back. */
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ask = (redis: Redis) => [redis.get('any'), redis.pipeline().get('one').strlen('other').exec()]

test('abandoned calls are taken out of the offline queue, a pipeline as a whole, and the connection goes on as before (QUEUE-2)', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  const redis = openRedis(server.url, 200)
  await waitUntil('it is connected', () => redis.status === 'ready')
  for (const count of [20, 40]) {
    await server.kill()
    await waitUntil('the connection is lost', () => redis.status === 'reconnecting')
    const asked = Array.from({ length: count }, () => ask(redis)).flat()
    const answers = (await Promise.allSettled(asked)).map((answer) =>
      answer.status === 'fulfilled' ? answer.value : String(answer.reason),
    )
    const error = expect.objectContaining({ message: 'no answer within 200 ms' })
    const [isolated, ofPipeline] = ['Error: no answer within 200 ms', [[error], [error]]]
    expect(answers).toEqual(Array.from({ length: count }, () => [isolated, ofPipeline]).flat())
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

test('calls are not taken out before their time, whenever they were made (QUEUE-3)', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  const redis = openRedis(server.url, 1_000)
  await waitUntil('it is connected', () => redis.status === 'ready')
  await server.kill()
  await waitUntil('the connection is lost', () => redis.status === 'reconnecting')
  const early: number[] = []
  const asked: Promise<void>[] = []
  const began = performance.now()
  await waitUntil('there are some of each moment', () => {
    const at = performance.now()
    const note = () => {
      const passedMs = performance.now() - at
      if (passedMs < 1_000) early.push(passedMs)
    }
    asked.push(redis.get('any').then(note, note))
    return at - began > 300
  })
  await Promise.all(asked)
  expect(early).toEqual([])
  redis.disconnect()
})

test('calls are not taken out for time in which this process computed (QUEUE-3)', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  const redis = openRedis(server.url, 800)
  await waitUntil('it is connected', () => redis.status === 'ready')
  await server.kill()
  await waitUntil('the connection is lost', () => redis.status === 'reconnecting')
  const answer = redis.get('any').catch(String)
  for (let times = 0; times < 3; times++) {
    await setImmediate()
    const until = performance.now() + 310
    while (performance.now() < until);
  }
  expect(await Promise.race([answer, setImmediate('waits')])).toBe('waits')
  redis.disconnect()
})
