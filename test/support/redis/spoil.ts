/** Writes over a key. Its release restores the former value. Each is one step: a node may look at the key at any moment. */
import type { Redis } from 'ioredis'

const writeOver = `if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('RENAME', KEYS[1], KEYS[2]) end
redis.call('SET', KEYS[1], 'not what it was')`
const putBack = `redis.call('DEL', KEYS[1])
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('RENAME', KEYS[2], KEYS[1]) end`

export async function spoil(redis: Redis, key: string): Promise<() => Promise<void>> {
  const aside = `aside:${key}`
  await redis.eval(writeOver, 2, key, aside)
  return async () => {
    await redis.eval(putBack, 2, key, aside)
  }
}
