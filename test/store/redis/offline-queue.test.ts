/** Commands that wait while Redis is away: nobody waits for them for ever, and what is given up is not sent when it is back. */
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import type { TurnStore } from '../../../src/core/ports/ports.ts'
import { openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

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

test('what a node gave up while Redis was away is not sent when it is back', async () => {
  // What a server is asked is in its slow log, where nothing is too fast for it.
  await using server = await RedisServer.start({ settings: ['slowlog-log-slower-than 0', 'slowlog-max-len 100000'] })
  await using troupe = await TestTroupe.connect({ redisUrl: server.url })
  let turns: TurnStore | undefined
  const aroundTurns = (store: TurnStore) => {
    turns = store
    return store
  }
  const [deadlineMs, policy] = [3_000, { leaseMs: 3_000 }]
  await troupe.startNode({ idle: defineWorker({ receive() {} }) }, { aroundTurns, deadlineMs, policy })
  await server.kill()
  await waitUntil('the connections are lost', () => troupe.redis.status !== 'ready')
  const id = rootIdOf(newId(0))
  await expect(turns?.readHistory(id, 0)).rejects.toMatchObject({ code: 'store_unavailable' })
  await server.restart()
  const asked = await waitUntil('the node asks again', async () => {
    const log = (await troupe.redis.slowlog('GET', -1)) as [id: number, at: number, us: number, words: string[]][]
    const lines = log.map(([, , , words]) => words.join(' '))
    return lines.some((line) => line.startsWith('fcall')) && lines
  })
  expect(asked.filter((line) => line.includes(id))).toEqual([])
})
