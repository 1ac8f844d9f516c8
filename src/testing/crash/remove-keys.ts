/** Duty: remove the keys of namespaces that a test made in a Redis that belongs to its user. */
import { toRuntimeError } from '../../core/errors.ts'
import { redactSentence } from '../../core/secret/redact.ts'
import { tagOf } from '../../store/keys.ts'
import { openRedis, type Redis, withDeadline } from '../../store/redis/redis.ts'

/** How long to try to remove the keys from a Redis that does not answer. */
export const removeMsMax = 5_000

/** Never rejects: what the test found matters more. Keys that are left are named in a warning of the process. */
export async function removeKeys(url: string, namespaces: readonly string[], patienceMs = removeMsMax): Promise<void> {
  const redis = openRedis(url)
  const left = [...namespaces]
  try {
    await withDeadline(redis.ping(), patienceMs)
    for (const namespace of namespaces) {
      await withDeadline(removeNamespace(redis, namespace), patienceMs)
      left.shift()
    }
  } catch (thrown) {
    const why = redactSentence(toRuntimeError(thrown).message)
    process.emitWarning(
      `keys of a test are left in your Redis, under ${left.map((one) => `{${one}.0}`).join(', ')}: ${why}`,
    )
  } finally {
    redis.disconnect()
  }
}

async function removeNamespace(redis: Redis, namespace: string): Promise<void> {
  const match = `${tagOf(namespace, 0)}*`
  for await (const keys of redis.scanStream({ match, count: 1_000 }))
    if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]))
}
