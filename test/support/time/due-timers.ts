/**
 * Has timers fire when the test says so. A timer of a few hundred milliseconds may fire on a busy machine before the test has looked at what waits for it:
 * such a test begins one that is longer than the test lasts.
 */
import type { Redis } from 'ioredis'
import { partitionKeys } from '../../../src/store/keys.ts'

/** Longer than a test lasts. */
export const hourMs = 3_600_000

/** Makes all timers of the first partition due, and the expiry of its asks. */
export async function makeTimersDue({ redis, tag }: { readonly redis: Redis; readonly tag: string }): Promise<void> {
  const { timers } = partitionKeys(tag)
  for (const timer of await redis.zrange(timers, 0, '-1')) await redis.zadd(timers, 'XX', 1, timer)
}
