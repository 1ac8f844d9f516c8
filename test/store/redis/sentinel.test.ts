/** A Redis behind sentinels: where a client finds it, what it says when it does not, and that it leaves a primary that was replaced. */
import { Redis as PlainRedis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { redisPlace } from '../../../src/core/redis-url.ts'
import { followPrimary } from '../../../src/store/redis/connector/primary-connector.ts'
import { awaitRedis, openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { ask, SentinelGroup } from '../../support/redis/sentinel-group.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { connectTo } from '../support/connect-to.ts'

let group: SentinelGroup
beforeAll(async () => {
  group = await SentinelGroup.start()
})
afterAll(() => group[Symbol.asyncDispose]())

async function opened(url: string): Promise<Redis> {
  const redis = openRedis(url)
  onTestFinished(() => redis.disconnect())
  await awaitRedis(redis, url, 10_000)
  return redis
}

function urlOf(sentinels: readonly (RedisServer | number)[], rest = '/mymaster'): string {
  const hosts = sentinels.map((one) => `127.0.0.1:${typeof one === 'number' ? one : one.port}`)
  return `redis+sentinel://${hosts.join(',')}${rest}`
}

test('the primary is found, and the database that the address names', async () => {
  const redis = await opened(`${group.url}/3`)
  expect((await redis.role())[0]).toBe('master')
  expect(await redis.client('INFO')).toMatch(/ db=3 /)
  expect(await redis.config('GET', 'port')).toEqual(['port', String(group.servers[0]?.port)])
})

test('the primary is found by the one sentinel that answers', async () => {
  const [sentinel, frozen] = group.sentinels as [RedisServer, RedisServer]
  frozen.freeze()
  onTestFinished(() => frozen.thaw())
  const redis = await opened(urlOf([1, frozen, sentinel]))
  expect(await redis.ping()).toBe('PONG')
})

test('an error says that no sentinel answers, with the sentinels and without the password', async () => {
  const url = urlOf([1, 2]).replace('127', 'user:secret@127')
  await expect(connectTo(url)).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(
      /^no sentinel of redis\+sentinel:\/\/user:\*\*\*@127\.0\.0\.1:1,127\.0\.0\.1:2\/mymaster answers \(127\.0\.0\.1:\d: Connection is closed\)\. Start them, or set TROUPE_REDIS_URL/,
    ),
  })
})

test('an error says that the sentinels know no primary of that name, even if some do not answer', async () => {
  const [sentinel] = group.sentinels as [RedisServer]
  const url = urlOf([1, sentinel, 2], '/hermaster?password=secret')
  await expect(connectTo(url)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(
      /^the sentinels of redis\+sentinel:\S+ know no master named hermaster: SENTINEL MASTERS tells /,
    ),
  })
})

test('an error says that a Redis is named in place of a sentinel', async () => {
  await expect(connectTo(urlOf(group.servers))).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(
      /^127\.0\.0\.1:\d+ in redis\+sentinel:\S+ is no sentinel: the URL of a Redis itself /,
    ),
  })
})

test('an error says that the sentinels want a login, and with it they answer', async () => {
  await using sentinel = await RedisServer.start({
    isSentinel: true,
    settings: [
      `sentinel monitor mymaster 127.0.0.1 ${group.servers[0]?.port} 1`,
      'user watcher on >wa,tch +sentinel|get-master-addr-by-name +sentinel|sentinels',
    ],
  })
  const admin = openRedis(sentinel.url)
  onTestFinished(() => admin.disconnect())
  await admin.acl('SETUSER', 'default', 'off')
  await expect(connectTo(urlOf([sentinel]))).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/refused the login \(NOAUTH .*\): end the URL with \?sentinelUsername=/),
  })
  const wrong = urlOf([sentinel], '/mymaster?sentinelUsername=watcher&sentinelPassword=secret')
  await expect(connectTo(wrong)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/refused the login \(WRONGPASS/),
  })
  const right = urlOf([sentinel], '/mymaster?sentinelUsername=watcher&sentinelPassword=wa,tch')
  expect((await (await opened(right)).role())[0]).toBe('master')
})

test('a connection that is ended while it looks for a sentinel ends', async () => {
  const redis = openRedis(urlOf([1]))
  const ended = new Promise((resolve) => redis.once('end', () => resolve('ended')))
  redis.disconnect()
  expect(await ended).toBe('ended')
})

describe('a primary that was replaced, and still answers as one', () => {
  test('its connections go to the one that the sentinels name, and the copies that BullMQ makes of them', async () => {
    const [old, other] = await twoServers('first')
    const redis = await opened(urlOf(group.sentinels, '/first'))
    const copy = redis.duplicate()
    onTestFinished(() => copy.disconnect())
    expect([await portOf(redis), await portOf(copy)]).toEqual([old.port, old.port])
    for (const sentinel of group.sentinels) await monitor(sentinel, 'first', other)
    const arrived = async () => (await portOf(redis)) === other.port && (await portOf(copy)) === other.port
    await waitUntil('both are at the other server', arrived)
    expect((await ask(old, (asking) => asking.role()))[0]).toBe('master')
  })

  test('a connection stays while most sentinels name its server, and goes when most name another (PRIMARY-2)', async () => {
    const [old, other] = await twoServers('second')
    const [one, two, three] = group.sentinels as [RedisServer, RedisServer, RedisServer]
    await using proxy = await TcpProxy.start(one.url)
    const url = urlOf([portIn(proxy), two, three], '/second')
    const redis = watched(url)
    expect(await portOf(redis)).toBe(old.port)
    await asked(proxy)
    await monitor(one, 'second', other)
    // The first sentinel tells it of the other server before the others do.
    const early = watched(url)
    expect(await portOf(early)).toBe(other.port)
    let left = 0
    for (const connection of [redis, early]) connection.on('close', () => left++)
    await asked(proxy)
    expect(left).toBe(0)
    await monitor(three, 'second', other)
    await waitUntil('it is at the other server', async () => (await portOf(redis)) === other.port)
    expect(left).toBe(1)
  })

  test('a connection does not go back to a primary that most sentinels have replaced, whatever one says (PRIMARY-2)', async () => {
    const [old, other] = await twoServers('third')
    const [one, two, three] = group.sentinels as [RedisServer, RedisServer, RedisServer]
    await using proxy = await TcpProxy.start(one.url)
    const url = urlOf([portIn(proxy), two, three], '/third')
    const [redis, another] = [watched(url), watched(url)]
    expect([await portOf(redis), await portOf(another)]).toEqual([old.port, old.port])
    await asked(proxy)
    for (const sentinel of [two, three]) await monitor(sentinel, 'third', other)
    await waitUntil('it is at the other server', async () => (await portOf(redis)) === other.port)
    for (let again = 0; again < 5; again++) {
      redis.disconnect(true)
      expect(await portOf(redis)).toBe(other.port)
    }
    for (const sentinel of group.sentinels) await monitor(sentinel, 'third', old)
    await waitUntil('it is at its first server again', async () => (await portOf(redis)) === old.port)
  })

  test('sentinels are asked over one connection each while there is one to their primary, and not after that (PRIMARY-1)', async () => {
    const [sentinel] = group.sentinels as [RedisServer]
    await using proxy = await TcpProxy.start(sentinel.url)
    await using other = await TcpProxy.start(sentinel.url)
    const both = [watched(urlOf([portIn(proxy)])), watched(urlOf([portIn(proxy)]))]
    for (const redis of both) await redis.ping()
    await asked(proxy)
    expect(proxy.connections).toBe(1)
    for (const redis of both) redis.disconnect()
    await waitUntil('nobody is connected', () => proxy.connections === 0)
    watched(urlOf([portIn(other)]))
    await asked(other)
    expect(proxy.connections).toBe(0)
  })
})

/** A connection whose sentinels are asked often. */
function watched(url: string): Redis {
  const { url: server, ...place } = redisPlace(url)
  const redis = new PlainRedis(server, { ...place, ...followPrimary(20), protocol: 2 })
  redis.on('error', () => {})
  onTestFinished(() => redis.disconnect())
  return redis
}

function portIn({ url }: TcpProxy): number {
  return Number(new URL(url).port)
}

/** Resolves when the sentinel behind it has answered some more times. */
async function asked(proxy: TcpProxy): Promise<void> {
  const before = proxy.replyBytes
  await waitUntil('the sentinel has answered', () => proxy.replyBytes > before + 200)
}

/** Two servers; all sentinels know the first by this name. */
async function twoServers(name: string): Promise<[RedisServer, RedisServer]> {
  const servers = await Promise.all([
    RedisServer.start({ durability: 'none' }),
    RedisServer.start({ durability: 'none' }),
  ])
  onTestFinished(async () => {
    for (const sentinel of group.sentinels) await ask(sentinel, (redis) => redis.call('SENTINEL', 'REMOVE', name))
    for (const server of servers) await server[Symbol.asyncDispose]()
  })
  for (const sentinel of group.sentinels) await monitor(sentinel, name, servers[0])
  return servers
}

/** Has the sentinel name this server, as it does after a fail-over. */
async function monitor(sentinel: RedisServer, name: string, { port }: RedisServer): Promise<void> {
  await ask(sentinel, async (redis) => {
    await redis.call('SENTINEL', 'REMOVE', name).catch(() => {})
    await redis.call('SENTINEL', 'MONITOR', name, '127.0.0.1', port, '2')
  })
}

async function portOf(redis: Redis): Promise<number> {
  const [, port] = (await redis.config('GET', 'port')) as [string, string]
  return Number(port)
}
