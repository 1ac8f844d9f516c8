/**
 * Removes the keys of the namespaces of a test file when its tests have ended. Some tests look at all keys of their Redis; they take longer with each key
 * that another file left behind.
 */
import { afterAll, inject } from 'vitest'
import { openRedis } from '../../src/store/redis/redis.ts'
import { namespacesMade } from './namespace.ts'

afterAll(async () => {
  const namespaces = namespacesMade()
  if (namespaces.size === 0) return
  const redis = openRedis(inject('redisUrl'))
  try {
    for await (const page of redis.scanStream({ match: '{*', count: 5_000 })) {
      const own = (page as string[]).filter((key) =>
        namespaces.has(key.slice(1, key.lastIndexOf('.', key.indexOf('}')))),
      )
      if (own.length > 0) await redis.unlink(...own)
    }
  } finally {
    redis.disconnect()
  }
})
