/** Duty: remove the keys of namespaces that a test made in a Redis that belongs to its user. */
import { toRuntimeError } from '../../core/errors.ts'
import { redactSentence } from '../../core/secret/redact.ts'
import { Connections } from '../../store/redis/connections.ts'
import { type Redis, withDeadline } from '../../store/redis/redis.ts'

/** How long to try to remove the keys from a Redis that does not answer. */
export const removeMsMax = 5_000

/** Never rejects: what the test found matters more. Keys that are left are named in a warning of the process. */
export async function removeKeys(url: string, namespaces: readonly string[], patienceMs = removeMsMax): Promise<void> {
  const left = [...namespaces]
  let connections: Connections | undefined
  try {
    connections = await Connections.open(url, { deadlineMs: patienceMs })
    for (const namespace of namespaces) {
      await withDeadline(
        connections.each((redis) => removeNamespace(redis, namespace)),
        patienceMs,
      )
      left.shift()
    }
  } catch (thrown) {
    const why = redactSentence(toRuntimeError(thrown).message)
    process.emitWarning(
      `keys of a test are left in your Redis, under ${left.map((one) => `{${one}.0}`).join(', ')}: ${why}`,
    )
  } finally {
    connections?.end()
  }
}

async function removeNamespace(redis: Redis, namespace: string): Promise<void> {
  for await (const found of redis.scanStream({ match: `{${namespace}.*`, count: 1_000 })) {
    // The server of a cluster takes keys of one partition at a time.
    const partitions = Map.groupBy(found as string[], (key) => key.slice(0, key.indexOf('}')))
    for (const keys of partitions.values()) await redis.unlink(...keys)
  }
}
