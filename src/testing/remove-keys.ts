/** Duty: remove the keys of namespaces that a test made in a Redis that belongs to its user. */
import { tagOf } from '../store/keys.ts'
import { openRedis, type Redis, withDeadline } from '../store/redis/redis.ts'

/** How long to try to remove the keys from a Redis that does not answer. */
export const removeMsMax = 5_000

/** A Redis that does not answer keeps them; the run has already reported that. */
export async function removeKeys(url: string, namespaces: readonly string[]): Promise<void> {
  const redis = openRedis(url)
  try {
    await withDeadline(redis.ping(), removeMsMax)
    for (const namespace of namespaces) await withDeadline(removeNamespace(redis, namespace), removeMsMax)
  } catch {
    // The run has reported it.
  } finally {
    redis.disconnect()
  }
}

async function removeNamespace(redis: Redis, namespace: string): Promise<void> {
  const match = `${tagOf(namespace, 0)}*`
  for await (const keys of redis.scanStream({ match, count: 1_000 }))
    if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]))
}
