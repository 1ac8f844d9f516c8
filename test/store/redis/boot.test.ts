/** A Redis that may not be used is refused at the start, in one clear sentence. */
import { inspect } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { ConfigError } from '../../../src/core/errors.ts'
import { partitionKeys, tagOf } from '../../../src/store/keys.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { checkRedis } from '../../../src/store/set-up/set-up.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { connectTo } from '../support/connect-to.ts'
import { Place } from '../support/place.ts'

/** Longer than a test takes: an error that no waiting mends must come at once. */
const tooLong = { deadlineMs: 600_000 }

describe('a Redis that may not be used', () => {
  test.each(['allkeys-lru', 'volatile-ttl', 'allkeys-random'])(
    'a Redis that evicts keys by %s is refused',
    async (eviction) => {
      await using server = await RedisServer.start({ durability: 'none', settings: [`maxmemory-policy ${eviction}`] })
      await expect(connectTo(server.url)).rejects.toThrow(ConfigError)
      await expect(connectTo(server.url)).rejects.toThrow(
        new RegExp(`may evict keys \\(maxmemory-policy ${eviction}\\).*config set maxmemory-policy noeviction`),
      )
    },
  )

  test('a namespace with another number of partitions is refused', async () => {
    await using place = await Place.open()
    const { namespace, redisUrl } = place
    await connectTo(redisUrl, { namespace, partitions: 4 })
    const told =
      /has 4 partitions, not 8: set TROUPE_PARTITIONS=4 \(partitions in code\) or leave it out\. To raise the number: troupe partition raise 8\.$/
    await expect(connectTo(redisUrl, { namespace, partitions: 8 })).rejects.toThrow(told)
    await expect(connectTo(redisUrl, { namespace, partitions: 8 })).rejects.toThrow(ConfigError)
    await connectTo(redisUrl, { namespace, partitions: 4 })
    await connectTo(redisUrl, { namespace })
    expect(await checkRedis(place.redis, namespace, undefined)).toBe(4)
  })

  test.each([0, -1, 1.5, 4_097, Number.NaN])('with %s partitions', async (partitions) => {
    await using place = await Place.open()
    await expect(checkRedis(place.redis, place.namespace, partitions)).rejects.toThrow(
      /partitions must be a whole number from 1 to 4096/,
    )
    expect(await place.dump()).toEqual({})
  })

  test.each(['abc', '', '0', '-1', '1.5', '999999'])(
    'a namespace whose number of partitions was made %j is refused',
    async (partitions) => {
      await using place = await Place.open()
      const { namespace, redisUrl } = place
      await connectTo(redisUrl, { namespace, partitions: 2 })
      await place.redis.hset(place.keys.meta, { partitions })
      const told =
        /field partitions of \{.*\.0\}:meta should be a whole number from 1 to 4096.* put it back, or remove it/
      await expect(connectTo(redisUrl, { namespace })).rejects.toThrow(told)
      await expect(connectTo(redisUrl, { namespace, purpose: 'look' })).rejects.toThrow(told)
    },
  )

  test.each([
    [99, /newer troupe \(schema 99\): update this one/],
    [1, /older troupe \(schema 1\), .* set TROUPE_NAMESPACE to another/],
    [5, /older troupe \(schema 5\), .* set TROUPE_NAMESPACE to another/],
  ])('a namespace that a troupe of another schema (%s) wrote is refused', async (schema, told) => {
    await using place = await Place.open()
    await place.redis.hset(place.keys.meta, 'partitions', 1, 'schema', schema)
    await expect(checkRedis(place.redis, place.namespace, undefined)).rejects.toThrow(told)
    // Of several errors about this namespace, only this one helps.
    await expect(checkRedis(place.redis, place.namespace, 2)).rejects.toThrow(told)
    await place.redis.hset(place.keys.meta, 'partitions', 'x')
    await expect(checkRedis(place.redis, place.namespace, undefined)).rejects.toThrow(told)
    await place.redis.hdel(place.keys.meta, 'partitions')
    await expect(checkRedis(place.redis, place.namespace, undefined)).rejects.toThrow(told)
    expect(await place.redis.hgetall(place.keys.meta)).toEqual({ schema: String(schema) })
  })

  test.each(['abc', '', '1.5', '-1'])('a namespace whose schema was made %j is refused', async (schema) => {
    await using place = await Place.open()
    const { namespace, redisUrl } = place
    await connectTo(redisUrl, { namespace })
    await place.redis.hset(place.keys.meta, { schema })
    for (const purpose of ['create', 'look'] as const)
      await expect(connectTo(redisUrl, { namespace, purpose })).rejects.toThrow(
        /field schema of \{.*\.0\}:meta should be a whole number.* put it back, or remove it/,
      )
  })

  test('a Redis that wants a password is refused, and no error or cause shows the password', async () => {
    await using server = await RedisServer.start({ durability: 'none' })
    const redis = openRedis(server.url)
    await redis.config('SET', 'requirepass', 'secret')
    await expect(connectTo(server.url, tooLong)).rejects.toThrow(ConfigError)
    const wrong = server.url.replace('//', '//:wr0ng@')
    const refused: unknown = await connectTo(wrong, tooLong).catch((error: unknown) => error)
    expect(inspect(refused, { depth: 9 })).toMatch(/^(?!.*wr0ng).*refused the login/s)
    await connectTo(server.url.replace('//', '//:secret@'))
    await redis.config('SET', 'requirepass', '')
    redis.disconnect()
  })

  test('a Redis without a database of that number is refused, and database 0 is not written to instead', async () => {
    await using server = await RedisServer.start({ durability: 'none' })
    await expect(connectTo(`${server.url}/99`, tooLong)).rejects.toThrow(/has no such database .*end the URL/)
    const redis = openRedis(server.url)
    expect(await redis.dbsize()).toBe(0)
    redis.disconnect()
  })

  test('two clients that set up a namespace at once agree on its partitions', async () => {
    await using place = await Place.open()
    const counts = await Promise.allSettled(
      [2, 3, 2, 3].map((count) => checkRedis(place.redis, place.namespace, count)),
    )
    const agreed = Number(await place.redis.hget(place.keys.meta, 'partitions'))
    expect(counts.map((count) => count.status)).toEqual(
      [2, 3, 2, 3].map((count) => (count === agreed ? 'fulfilled' : 'rejected')),
    )
  })
  test('a process that sets up a namespace right after another keeps to what the first one wrote', async () => {
    await using place = await Place.open()
    const { redis, namespace } = place
    await checkRedis(redis, namespace, 2)
    // The process reads what was there before the first one wrote.
    using _ = vi.spyOn(redis, 'hmget').mockResolvedValueOnce([null, null])
    await expect(checkRedis(redis, namespace, 3)).rejects.toThrow(/has 2 partitions, not 3/)
    expect(await checkRedis(redis, namespace, undefined)).toBe(2)
  })

  test('a process that sets up a namespace without a number of partitions keeps to the partitions that nodes swept', async () => {
    await using place = await Place.open()
    const { redis, namespace } = place
    for (const partition of [0, 1, 2]) await redis.hset(partitionKeys(tagOf(namespace, partition)).meta, 'sweptAt', '1')
    await expect(checkRedis(redis, namespace, 2)).rejects.toThrow(/has 3 partitions, not 2/)
    expect(await checkRedis(redis, namespace, undefined)).toBe(3)
  })

  test('a refused Redis leaves no connection, which would let no process end', async () => {
    await using place = await Place.open()
    const { namespace, redisUrl } = place
    await checkRedis(place.redis, namespace, 2)
    await using proxy = await TcpProxy.start(redisUrl)
    await expect(connectTo(proxy.url, { namespace, partitions: 3 })).rejects.toThrow(ConfigError)
    expect(proxy.opened).toBe(1)
    await waitUntil('none is open', () => proxy.connections === 0)
  })
})
