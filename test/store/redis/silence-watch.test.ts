/** Connections that are lost without a word (SILENCE-1 to SILENCE-3), with short patience; test/fault/redis/silent-loss.test.ts has all of it. */
import { describe, expect, inject, test } from 'vitest'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { SilenceWatch } from '../../../src/store/redis/silence-watch.ts'
import { newNamespace } from '../../support/namespace.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** A lost connection is found after this time; one that stays may be silent for so much longer that no busy machine reaches it. */
const lostAfterMs = 1_500
const stayingMs = 8_000

/** A watched connection through a network that can be disturbed. */
async function watched(targetUrl = inject('redisUrl'), afterMs = lostAfterMs) {
  const proxy = await TcpProxy.start(targetUrl)
  const redis = openRedis(proxy.url)
  new SilenceWatch({ lookEveryMs: 20, askAfterMs: 200, lostAfterMs: afterMs }).watch(redis)
  await redis.ping()
  const close = async () => {
    redis.disconnect()
    await proxy[Symbol.asyncDispose]()
  }
  return { proxy, redis, [Symbol.asyncDispose]: close }
}

describe('a connection that is lost without a word', () => {
  test('a connection lost while it waits for an answer is opened again, and the answer comes (SILENCE-1)', async () => {
    await using scene = await watched()
    scene.proxy.forget()
    expect(await scene.redis.ping()).toBe('PONG')
    expect(scene.proxy.opened).toBeGreaterThan(1)
  })

  test('a connection lost while it waits for no answer is opened again (SILENCE-2)', async () => {
    await using scene = await watched()
    scene.proxy.forget()
    await waitUntil('it was opened again', () => scene.proxy.opened > 1)
    expect(await scene.redis.ping()).toBe('PONG')
  })

  test('a connection lost while it only listens is opened again, and listens (SILENCE-2)', async () => {
    await using scene = await watched()
    await using other = await watched()
    const channel = `heard:${newNamespace()}`
    const heard: string[] = []
    scene.redis.on('message', (_, word: string) => heard.push(word))
    await scene.redis.subscribe(channel)
    scene.proxy.forget()
    await waitUntil(
      'it listens again',
      async () => (await other.redis.publish(channel, 'again')) > 1 && heard.length > 0,
    )
    expect(scene.proxy.opened).toBeGreaterThan(1)
  })

  test('a connection lost while it blocks is opened again, and its answer comes (SILENCE-1)', async () => {
    await using scene = await watched()
    await using other = await watched()
    const key = `silence:${newNamespace()}`
    const waiting = scene.redis.xread('BLOCK', 0, 'STREAMS', key, '0-0')
    scene.proxy.forget()
    await waitUntil('it was opened again', () => scene.proxy.opened > 1)
    await other.redis.xadd(key, '*', 'a', 'b')
    expect(await waiting).toHaveLength(1)
    await other.redis.del(key)
  })
})

describe('a silent connection', () => {
  test('an idle connection stays, asked for a sign of life now and then (SILENCE-2)', async () => {
    await using scene = await watched(inject('redisUrl'), stayingMs)
    const { bytesRead } = scene.redis.stream
    await waitUntil('it was asked some times', () => scene.redis.stream.bytesRead >= bytesRead + 5 * '+PONG\r\n'.length)
    expect(scene.proxy.opened).toBe(1)
  })

  test('a connection stays when Redis stood still for less than the limit', async () => {
    await using server = await RedisServer.start({ durability: 'none' })
    await using scene = await watched(server.url, stayingMs)
    server.freeze()
    const asked = performance.now()
    const answer = scene.redis.ping()
    await waitUntil('it was silent for long', () => performance.now() - asked > stayingMs / 4)
    server.thaw()
    expect(await answer).toBe('PONG')
    expect(scene.proxy.opened).toBe(1)
  })

  test('a connection stays when this process computed for longer than the limit (SILENCE-3)', async () => {
    await using scene = await watched()
    const answer = scene.redis.ping()
    const until = performance.now() + 2 * lostAfterMs
    while (performance.now() < until);
    expect(await answer).toBe('PONG')
    expect(scene.proxy.opened).toBe(1)
  })
})
