/**
 * Duty: how long a namespace keeps finished sessions. It is the namespace's and no node's: each node prunes, also one that only helps a
 * command, and would remove what others mean to keep.
 */
import { partitionKeys, tagOf } from '../keys.ts'
import type { Redis } from '../redis/redis.ts'
import { StoredDamage } from '../redis/store-error.ts'

const field = 'retentionMs'

/** What was said last, in ms; undefined where nobody said anything. */
export async function retentionOf(redis: Redis, namespace: string): Promise<number | undefined> {
  const { meta } = partitionKeys(tagOf(namespace, 0))
  const stored = await redis.hget(meta, field)
  if (stored === null) return undefined
  if (!/^\d+$/.test(stored)) throw new StoredDamage(`field ${field} of ${meta} should be a whole number`)
  return Number(stored)
}

/** Counts for who starts from now on; who runs already keeps to what it knew. */
export async function setRetention(redis: Redis, namespace: string, ms: number): Promise<void> {
  await redis.hset(partitionKeys(tagOf(namespace, 0)).meta, field, ms)
}
