/**
 * Duty: what a Redis must be before troupe uses it, and the set-up of a namespace.
 * SETUP-1 Boot refuses a Redis that may evict keys, or is older than 6.2, and a namespace that has another number of partitions.
 *     A caller that only looks at a namespace does not set it up.
 */
import { ConfigError } from '../../core/errors.ts'
import { partitionsMax } from '../../core/ids.ts'
import { partitionKeys, tagOf } from '../keys.ts'
import type { OpenPlace } from '../places.ts'
import { guarded } from '../redis/guarded.ts'
import { followsSlot, type Redis } from '../redis/redis.ts'
import { StoredDamage } from '../redis/store-error.ts'

export const schemaVersion = 8

/** Why a Redis that says this of itself (INFO) must not be used, in one sentence; null when it may. */
export function unfit(info: string): string | null {
  if (/^redis_mode:sentinel/m.test(info)) {
    return 'this is a Redis Sentinel, which keeps no keys: to have it asked for the primary, let the URL be like redis+sentinel://host:26379/mymaster.'
  }
  const version = /^redis_version:(\d+)\.(\d+)/m.exec(info)
  if (version && Number(version[1]) * 100 + Number(version[2]) < 602) {
    return `Redis ${version[1]}.${version[2]} is too old: troupe needs 6.2 or newer.`
  }
  const eviction = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  if (eviction === undefined || eviction === 'noeviction') return null
  return `this Redis may evict keys (maxmemory-policy ${eviction}), which loses work: set it with \`redis-cli config set maxmemory-policy noeviction\`.`
}

/** The error for a problem of a server; it names the server if it is one of a cluster. */
export function wrongAt(redis: Redis, problem: string): ConfigError {
  if (!followsSlot(redis)) return new ConfigError(problem)
  const { remoteAddress, remotePort } = redis.stream
  return new ConfigError(`server ${remoteAddress}:${remotePort} of the cluster: ${problem}`)
}

/** From this share of its memory on, doctor calls it a problem, too. */
const fullShare = 0.95

/** Says that little of its memory is left, in one sentence; null when enough is, or it has no limit. */
export function nearlyFull(info: string): string | null {
  const numberOf = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
  const [used, most] = [numberOf('used_memory'), numberOf('maxmemory')]
  if (most === 0 || used < most * fullShare) return null
  return `this Redis is nearly full (${used} of ${most} bytes): it will refuse writes. Raise maxmemory, or remove finished sessions: troupe session prune.`
}

/** How many partitions there are, if their number was removed; undefined if no more than one is seen. */
export type LookForPartitions = () => Promise<number | undefined>

/** Checks version, eviction and partitions; on the first start it writes the number of partitions. Returns that number. */
export async function checkRedis(
  redis: Redis,
  namespace: string,
  partitions: number | undefined,
  look: LookForPartitions = () => partitionsInUse(redis, namespace),
): Promise<number> {
  const setUp = async (meta: string, wanted: number) => {
    await redis.hsetnx(meta, 'schema', schemaVersion)
    await redis.hsetnx(meta, 'partitions', wanted)
    return redis.hget(meta, 'partitions')
  }
  return readSetUp(redis, namespace, partitions, look, setUp)
}

/** The same checks for a caller that does not set up. A namespace that nobody set up counts as having the wanted number of partitions. */
export async function lookAtRedis(
  redis: Redis,
  namespace: string,
  wanted: number | undefined,
  look: LookForPartitions = () => partitionsInUse(redis, namespace),
): Promise<{ readonly partitions: number; readonly isSetUp: boolean }> {
  let isSetUp = true
  const partitions = await readSetUp(redis, namespace, wanted, look, async (_meta, number) => {
    isSetUp = false
    return String(number)
  })
  return { partitions, isSetUp }
}

/** `setUp` gets the number to write if none is stored yet, and returns the number that is stored then. */
async function readSetUp(
  redis: Redis,
  namespace: string,
  partitions: number | undefined,
  look: LookForPartitions,
  setUp: (meta: string, wanted: number) => Promise<string | null>,
): Promise<number> {
  const problem = unfit(await redis.info())
  if (problem !== null) throw wrongAt(redis, problem)
  const { meta } = partitionKeys(tagOf(namespace, 0))
  const stored = await redis.hmget(meta, 'partitions', 'schema').catch((cause: unknown) => {
    throw String(cause).includes('WRONGTYPE') ? new StoredDamage(`key ${meta} should be a hash`, { cause }) : cause
  })
  const version = stored[1] ?? String(schemaVersion)
  if (!/^\d+$/.test(version)) throw new StoredDamage(`field schema of ${meta} should be a whole number`)
  const schema = Number(version)
  if (schema > schemaVersion)
    throw new ConfigError(`namespace "${namespace}" was written by a newer troupe (schema ${schema}): update this one.`)
  if (schema < schemaVersion) {
    throw new ConfigError(
      `namespace "${namespace}" was written by an older troupe (schema ${schema}), which this one cannot read: set TROUPE_NAMESPACE to another (namespace in code). If troupe started this Redis itself, you may instead remove its folder .troupe/redis.`,
    )
  }
  if (stored[0] == null) {
    const wanted = (await look()) ?? partitions ?? 1
    if (!isPartitions(wanted)) throw new ConfigError(`partitions must be ${partitionsWords}, not ${wanted}.`)
    stored[0] = await setUp(meta, wanted)
  }
  const found = Number(stored[0])
  if (!isPartitions(found)) throw new StoredDamage(`field partitions of ${meta} should be ${partitionsWords}`)
  if (partitions !== undefined && partitions !== found) {
    const more = partitions > found ? ` To raise the number: troupe partition raise ${partitions}.` : ''
    throw new ConfigError(
      `namespace "${namespace}" has ${found} partition${found === 1 ? '' : 's'}, not ${partitions}: set TROUPE_PARTITIONS=${found} (partitions in code) or leave it out.${more}`,
    )
  }
  return found
}

const partitionsWords = `a whole number from 1 to ${partitionsMax}`

function isPartitions(number: number): boolean {
  return Number.isInteger(number) && number >= 1 && number <= partitionsMax
}

/** The number that processes work with from now on; 0 if the namespace was never set up. */
export async function partitionsNow({ redis, keys }: OpenPlace, deadlineMs: number): Promise<number> {
  const read = () => redis.hget(keys.meta, 'partitions')
  return Number(await guarded('reading the number of partitions', read, deadlineMs))
}

/** The sweeps of nodes write into `meta` of each partition. A new namespace costs one question. */
async function partitionsInUse(redis: Redis, namespace: string): Promise<number | undefined> {
  const metaOf = (partition: number) => partitionKeys(tagOf(namespace, partition)).meta
  if ((await redis.exists(metaOf(1))) === 0) return undefined
  const looking = redis.pipeline()
  for (let partition = 0; partition < partitionsMax; partition++) looking.exists(metaOf(partition))
  const seen = (await looking.exec())?.map(([error, isThere]) => {
    if (error) throw error
    return isThere === 1
  })
  return (seen?.lastIndexOf(true) ?? 0) + 1
}
