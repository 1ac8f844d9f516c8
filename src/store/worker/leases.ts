/** Duty: read the leases of workers: whose have ended although their turns had not, and which a node holds. It never writes. */
import { type PartitionKeys, workerKeys } from '../keys.ts'
import { nonceIn } from '../record/worker-record.ts'
import { allRanked } from '../redis/large-keys.ts'
import type { Redis } from '../redis/redis.ts'
import { orElse, repliesOf } from '../script/replies.ts'

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

/** The right of a node to run a worker. */
export interface HeldLease {
  readonly workerId: string
  readonly token: string
}

const tokensAtOnce = 500

/** The leases of one node. Children that a slot runs itself have the nonce of its claim too. */
export async function leasesOfNode(redis: Redis, keys: PartitionKeys, nodeId: string): Promise<HeldLease[]> {
  const claims = await orElse(redis.hvals(keys.claims(nodeId)), [])
  const nonces = new Set(claims.map((claim) => claim.split(' ', 1)[0] as string))
  const ids = nonces.size === 0 ? [] : await allRanked(redis, keys.leases)
  const held: HeldLease[] = []
  for (let from = 0; from < ids.length; from += tokensAtOnce) {
    const some = ids.slice(from, from + tokensAtOnce)
    const reading = redis.pipeline()
    for (const id of some) reading.hget(workerKeys(keys.tag, id).record, 'token')
    const tokens = await repliesOf(reading)
    for (const [index, token] of tokens.entries())
      if (typeof token === 'string' && nonces.has(nonceIn(token))) held.push({ workerId: some[index] as string, token })
  }
  return held
}
