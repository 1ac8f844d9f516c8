/** Reading all of a large key in several answers. */
import { expect, test } from 'vitest'
import { allFields, allMembers, allRanked } from '../../../src/store/redis/large-keys.ts'
import type { Redis } from '../../../src/store/redis/redis.ts'
import { Place } from '../support/place.ts'

const names = Array.from({ length: 3_000 }, (_, index) => `name-${index}`)

test.each([
  ['hash', (redis: Redis, key: string) => redis.hset(key, Object.fromEntries(names.map((name) => [name, 'x'])))],
  ['set', (redis: Redis, key: string) => redis.sadd(key, ...names)],
  ['zset', (redis: Redis, key: string) => redis.zadd(key, ...names.flatMap((name) => [1, name]))],
] as const)('all of a large %s is read, and no answer has more than a part of it', async (sort, fill) => {
  await using place = await Place.open()
  const key = `${place.keys.tag}:large`
  await fill(place.redis, key)
  const sizes: number[] = []
  const noted =
    (name: string) =>
    async (...args: [string, string, 'COUNT', number]) => {
      const reply = (await place.redis.call(name, ...args)) as [string, string[]]
      sizes.push(reply[1].length)
      return reply
    }
  const redis = new Proxy(place.redis, {
    get: (of, name) => (/^[hsz]scan$/.test(String(name)) ? noted(String(name)) : Reflect.get(of, name, of)),
  })
  const all = {
    hash: async () => Object.keys(await allFields(redis, key)),
    set: () => allMembers(redis, key),
    zset: () => allRanked(redis, key),
  }
  expect((await all[sort]()).sort()).toEqual(names.toSorted())
  expect(sizes.length).toBeGreaterThan(3)
  expect(Math.max(...sizes)).toBeLessThan(1_500)
})

test('a key that is not there has nothing', async () => {
  await using place = await Place.open()
  const key = `${place.keys.tag}:nothing`
  const { redis } = place
  expect([await allFields(redis, key), await allMembers(redis, key), await allRanked(redis, key)]).toEqual([{}, [], []])
})
