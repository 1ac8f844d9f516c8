/**
 * Duty: how long a namespace keeps finished sessions. It belongs to the namespace and not to a node: each node prunes, also one that only helps a
 * command, and would remove what others mean to keep.
 */
import { partitionKeys, tagOf } from '../keys.ts'
import type { Redis } from '../redis/redis.ts'
import { StoredDamage } from '../redis/store-error.ts'

const field = 'retentionMs'

/** What somebody set last, in ms; undefined if nobody set anything. */
export async function retentionOf(redis: Redis, namespace: string): Promise<number | undefined> {
  const { meta } = partitionKeys(tagOf(namespace, 0))
  const stored = await redis.hget(meta, field)
  if (stored === null) return undefined
  if (!/^\d+$/.test(stored)) throw new StoredDamage(`field ${field} of ${meta} should be a whole number`)
  return Number(stored)
}

/** The retention that a starting node sets, which holds from now on; else the one that holds; undefined if nobody set one. */
export async function agreeOnRetention(
  redis: Redis,
  namespace: string,
  ms: number | undefined,
): Promise<number | undefined> {
  if (ms === undefined) return retentionOf(redis, namespace)
  await setRetention(redis, namespace, ms)
  return ms
}

/** It counts for processes that start from now on; a process that runs keeps the value that it read. */
async function setRetention(redis: Redis, namespace: string, ms: number): Promise<void> {
  await redis.hset(partitionKeys(tagOf(namespace, 0)).meta, field, ms)
}
