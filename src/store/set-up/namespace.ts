/**
 * Duty: the checks before work begins in a namespace: of the Redis, or of each server of a cluster that holds a partition, and of what its user may do.
 */
import { TransientError } from '../../core/errors.ts'
import { partitionKeys, placesOf, tagOf } from '../keys.ts'
import type { Connections } from '../redis/connections.ts'
import { guarded } from '../redis/guarded.ts'
import type { Redis } from '../redis/redis.ts'
import { checkRights } from './rights.ts'
import { checkRedis, type LookForPartitions, lookAtRedis, schemaVersion, unfit, wrongAt } from './set-up.ts'

/** Returns the number of partitions; sets the namespace up if nobody has. Throws a ConfigError or a TransientError. */
export async function checkNamespace(
  connections: Connections,
  namespace: string,
  wanted: number | undefined,
  deadlineMs: number,
): Promise<number> {
  const first = connections.at(tagOf(namespace, 0))
  const checking = () => checkRedis(first, namespace, wanted, lookIn(connections, namespace))
  const partitions = await guarded(checkingFirst(connections), checking, deadlineMs)
  await checkEach(connections, namespace, partitions, deadlineMs)
  return partitions
}

/**
 * The same checks for a caller that does not set up. `willWrite`: the caller changes what the namespace holds. It mostly changes one session: a server
 * of a cluster that is away holds up what is there alone.
 */
export async function lookAtNamespace(
  connections: Connections,
  namespace: string,
  wanted: number | undefined,
  { deadlineMs, willWrite }: { readonly deadlineMs: number; readonly willWrite: boolean },
): Promise<number> {
  const first = connections.at(tagOf(namespace, 0))
  const looking = () => lookAtRedis(first, namespace, wanted, lookIn(connections, namespace))
  const { partitions, isSetUp } = await guarded(checkingFirst(connections), looking, deadlineMs)
  // A namespace that was never set up holds nothing to change.
  if (!willWrite || !isSetUp) return partitions
  if (!connections.isCluster) await checkEach(connections, namespace, partitions, deadlineMs)
  else await checkEach(connections, namespace, partitions, deadlineMs * awayShare).catch(unlessAway)
  return partitions
}

/** In a cluster the others may answer, and nobody knows of them without the first. */
function checkingFirst({ isCluster }: Connections): string {
  return isCluster ? 'checking the set-up in partition 0, which has the number of all' : 'checking the set-up'
}

/** How much of its time a caller that changes something waits for servers of a cluster that it may not need. */
const awayShare = 1 / 3

function unlessAway(error: unknown): void {
  if (!(error instanceof TransientError)) throw error
}

/** In a cluster the keys `meta` of the partitions are at several servers, and each server lists only its own. */
function lookIn(connections: Connections, namespace: string): LookForPartitions | undefined {
  if (!connections.isCluster) return undefined
  const metaOf = (partition: number) => partitionKeys(tagOf(namespace, partition)).meta
  return async () => {
    const second = metaOf(1)
    if ((await connections.at(second).exists(second)) === 0) return undefined
    const found = await connections.each(async (redis) => {
      const keys: string[] = []
      for await (const page of redis.scanStream({ match: `{${namespace}.*}:meta`, count: 1_000 })) keys.push(...page)
      return keys
    })
    return Math.max(...found.flat().map(partitionOfTag)) + 1
  }
}

function partitionOfTag(key: string): number {
  return Number(/\.(\d+)\}/.exec(key)?.[1] ?? 0)
}

/** Users and settings of the servers of a cluster may differ. */
export async function checkEach(
  connections: Connections,
  namespace: string,
  partitions: number,
  deadlineMs: number,
): Promise<void> {
  const places = placesOf(namespace, partitions)
  const servers = Map.groupBy(places, ({ keys }) => connections.at(keys.tag))
  await Promise.all(
    [...servers].map(async ([redis, [{ partition } = { partition: 0 }]]) => {
      const checking = () => checkAnother(redis, namespace, partition)
      if (partition > 0) await guarded(`checking the set-up of partition ${partition}`, checking, deadlineMs)
      await checkRights(redis, namespace, deadlineMs, partition)
    }),
  )
}

/** A server that has other partitions than the first, to which `checkRights` may then aim its commands. */
async function checkAnother(redis: Redis, namespace: string, partition: number): Promise<void> {
  const problem = unfit(await redis.info())
  if (problem !== null) throw wrongAt(redis, problem)
  await redis.hsetnx(partitionKeys(tagOf(namespace, partition)).meta, 'schema', schemaVersion)
}
