/** Duty: read the leases of workers: whose have ended although their turns had not. It never writes. */
import { type PartitionKeys, workerKeys } from './keys.ts'
import type { Redis } from './redis/redis.ts'
import { orElse } from './script/replies.ts'

export interface ExpiredWorker {
  readonly id: string
  readonly kind: string
  /** What its node said before it died, or of code that blocks it; null if it said nothing. */
  readonly lastWords: string | null
}

const expiredMost = 20

/** Workers whose leases have ended during a turn: those that ended first. */
export async function expiredWorkers(redis: Redis, keys: PartitionKeys, now: number): Promise<ExpiredWorker[]> {
  const ids = await redis.zrange(keys.leases, '-inf', String(now), 'BYSCORE', 'LIMIT', 0, expiredMost)
  const read = ids.map(async (id) => {
    const fields = redis.hmget(workerKeys(keys.tag, id).record, 'kind', 'lastWords')
    const [kind = null, lastWords = null] = await orElse(fields, [])
    return { id, kind: kind ?? 'unknown', lastWords }
  })
  return Promise.all(read)
}
