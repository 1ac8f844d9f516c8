/** Hearing of cancels, over a connection that comes back and ends again. */
import { once } from 'node:events'
import { expect, inject, test } from 'vitest'
import { partitionKeys, tagOf } from '../../../src/store/keys.ts'
import { hearChanges } from '../../../src/store/person/cancel-notices.ts'
import { endRedis, openRedis } from '../../../src/store/redis/redis.ts'
import { newNamespace } from '../../support/namespace.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'

test('a connection that ends while it subscribes again breaks nothing', async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  try {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    const redis = openRedis(proxy.url)
    const places = [{ keys: partitionKeys(tagOf(newNamespace(), 0)) }]
    await hearChanges(
      () => redis,
      places,
      () => {},
      5_000,
    )
    redis.disconnect(true)
    await once(redis, 'ready')
    proxy.forget()
    endRedis(redis)
    proxy.cut()
    await once(redis, 'end')
    // Node reports rejections when the queue of microtasks is empty.
    await new Promise(setImmediate)
  } finally {
    process.off('unhandledRejection', note)
  }
  expect(unhandled).toEqual([])
})
