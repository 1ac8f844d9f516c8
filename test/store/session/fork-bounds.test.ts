/** What a copy of a session takes, and refuses, where there is very much of it. */
import { expect, test } from 'vitest'
import { Place } from '../support/place.ts'
import { forked, written } from '../support/session/fork-checks.ts'

test('a copy has the results of all runs of a conversation, however many there were', async () => {
  await using place = await Place.open()
  const session = await place.create({ mode: 'conversation' })
  const runs = 1_200
  const results = Array.from({ length: runs }, (_, index) => [String(index + 1), `completed ${index}`])
  await place.redis.hset(place.sessionKeys(session.id).runResults, Object.fromEntries(results))
  await place.redis.hset(place.workerKeys(session.root).record, 'run', String(runs + 1))
  const copy = await forked(place, session)
  const { runResults } = place.sessionKeys(copy.id)
  expect(await place.redis.hlen(runResults)).toBe(runs)
  expect(await place.redis.hmget(runResults, '1', '500', '501', '1200')).toEqual(
    [0, 499, 500, 1_199].map((index) => `completed ${index}`),
  )
})

test('a session that waits for more timers than one script may set is not forked, and is told how many there are', async () => {
  await using place = await Place.open()
  const session = await place.create()
  const { record, timers } = place.workerKeys(session.root)
  const names = Array.from({ length: 3_001 }, (_, index) => `t${index}`)
  await place.redis.hset(record, 'signalsOpen', String(names.length))
  await place.redis.hset(timers, Object.fromEntries(names.map((name) => [name, '1'])))
  await place.redis.zadd(place.keys.timers, ...names.flatMap((name) => [4e12, `${session.root}:${name}`]))
  await expect(written(place, session)).rejects.toThrow('waits for 3001 timers')
  await place.redis.zrem(place.keys.timers, `${session.root}:t0`)
  await place.redis.hdel(timers, 't0')
  expect((await written(place, session)).order.due).toHaveLength(6_000)
})
