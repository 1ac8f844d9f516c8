/** A Redis behind sentinels: where a client finds it, and what it says when it does not. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { awaitRedis, openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { SentinelGroup } from '../../support/redis/sentinel-group.ts'
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
