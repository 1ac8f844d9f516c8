import { partitionKeys } from '../../../src/store/keys.ts'
import type { Redis } from '../../../src/store/redis/redis.ts'

/** Trims the events as a sweep does, which notes it as well: Redis before 7.0 cannot tell afterwards. */
export async function trimEvents(
  redis: Redis,
  tag: string,
  by: 'MAXLEN' | 'MINID',
  bound: number | string,
): Promise<void> {
  const keys = partitionKeys(tag)
  await redis.call('XTRIM', keys.events, by, bound)
  await redis.hset(keys.meta, 'trimmed', '1')
}
