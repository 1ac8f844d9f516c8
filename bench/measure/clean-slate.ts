/**
 * Duty: gives every contestant of every round the same start: an empty Redis and a short AOF.
 * Without it, later contestants would pay for the data of earlier ones.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Redis } from 'ioredis'

/** Above this the AOF is rewritten between two contestants, so that a run never fills a small disk. */
const aofBytesMax = 64 * 1024 * 1024

export async function cleanSlate(redis: Redis): Promise<void> {
  await redis.flushall()
  const info = await redis.info('persistence')
  if (Number(/aof_current_size:(\d+)/.exec(info)?.[1] ?? 0) > aofBytesMax) await shortenAof(redis)
}

async function shortenAof(redis: Redis): Promise<void> {
  await redis.bgrewriteaof()
  for (let waited = 0; waited < 10_000; waited += 20) {
    const info = await redis.info('persistence')
    if (/aof_rewrite_in_progress:0/.test(info) && /aof_rewrite_scheduled:0/.test(info)) return
    await delay(20)
  }
  throw new Error('Redis did not finish rewriting its AOF within 10 s.')
}
