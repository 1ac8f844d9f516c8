/**
 * Duty: keep what the last audit of a namespace found, for monitors: `<time in ms> <findings about messages> <all findings>`, in the field
 * `audit` of the first partition's `meta`. An audit that somebody makes out of curiosity is not kept.
 */
import { type PartitionKeys, partitionKeys, tagOf } from '../keys.ts'
import type { Redis } from '../redis/redis.ts'

export interface LastAudit {
  /** When the audit began, by the clock of Redis. */
  readonly at: number
  readonly unaccounted: number
  readonly findings: number
}

const field = 'audit'

export async function lastAudit(redis: Redis, { meta }: PartitionKeys): Promise<LastAudit | null> {
  const [, at, unaccounted, findings] = /^(\d+) (\d+) (\d+)$/.exec((await redis.hget(meta, field)) ?? '') ?? []
  return at === undefined ? null : { at: Number(at), unaccounted: Number(unaccounted), findings: Number(findings) }
}

export async function keepLastAudit(redis: Redis, namespace: string, found: LastAudit): Promise<void> {
  const text = `${found.at} ${found.unaccounted} ${found.findings}`
  await redis.hset(partitionKeys(tagOf(namespace, 0)).meta, field, text)
}
