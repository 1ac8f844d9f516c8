/** Connections that end, and those that BullMQ makes after one of ours, to block on: for good, and not before. */
import { expect, inject, test } from 'vitest'
import { endRedis, openRedis, type Redis } from '../../src/store/redis/redis.ts'
import { TcpProxy } from '../support/redis/tcp-proxy.ts'
import { waitUntil } from '../support/time/wait-until.ts'

test('a copy ends with the connection after which it was made, and nobody opens it again', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  const redis = openRedis(proxy.url)
  const copy = redis.duplicate()
  await Promise.all([redis.ping(), copy.ping()])
  endRedis(redis)
  await waitUntil('both have ended', () => [redis, copy].every(({ status }) => status === 'end'))
  await expect(copy.connect()).rejects.toThrow('Connection is closed.')
  expect(proxy.opened).toBe(2)
})

test('a copy that waits for its next attempt is opened once more when it is to be reopened', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  const redis = openRedis(proxy.url)
  const copy = redis.duplicate()
  await copy.ping()
  proxy.cut()
  await waitUntil('it waits for its next try', () => copy.status === 'reconnecting')
  copy.disconnect(true)
  proxy.mend()
  expect(await copy.ping()).toBe('PONG')
  endRedis(redis)
})

test.each([
  ['a connection', (redis: Redis) => redis],
  ['a copy', (redis: Redis) => redis.duplicate()],
])('%s that is ended just as it is opened anew stays ended', async (_, open) => {
  const redis = openRedis(inject('redisUrl'))
  const one = open(redis)
  await one.ping()
  one.disconnect(true)
  one.disconnect()
  await expect(waitUntil('it has ended', () => one.status === 'end')).resolves.toBe(true)
  redis.disconnect()
})
