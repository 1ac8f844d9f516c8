/** Duty: the pools of a partition that ever had a node, as its sweeps keep them: what is left in one is looked for by all nodes. */
import { isPool } from '../core/ids.ts'
import type { PartitionKeys } from './keys.ts'
import type { Redis } from './redis/redis.ts'
import { orElse } from './script/replies.ts'

export async function poolsEverHosted(redis: Redis, { meta }: PartitionKeys): Promise<string[]> {
  const names = await orElse(redis.hget(meta, 'pools'), null)
  return (names ?? '').split(' ').filter(isPool)
}
