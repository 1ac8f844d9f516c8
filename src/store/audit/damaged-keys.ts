/** Duty: look at the sort of each key that belongs to a partition as a whole. It never writes. */

import { formerKey, gateKeys, gatesKey, nodeSlotsKey, openLettersKey, outboxKeys, type PartitionKeys } from '../keys.ts'
import { allRanked } from '../redis/large-keys.ts'
import type { Redis } from '../redis/redis.ts'
import { orElse } from '../script/replies.ts'
import { isGate } from '../worker/gate-facts.ts'

/** A sentence for each key whose sort another program has changed. */
export async function damagedKeys(redis: Redis, keys: PartitionKeys, pools: readonly string[]): Promise<string[]> {
  const {
    meta,
    nodes,
    seen,
    kinds,
    retired,
    leases,
    timers,
    sessions,
    ends,
    redriven,
    cancelling,
    events,
    dead,
    asks,
  } = keys
  const { run, wakeups, busy, slots, workersPerWake, claims, clocks, kindQueues, kindQueue } = keys
  const nodeIds = await orElse(redis.hkeys(nodes), [])
  const known = await orElse(redis.hkeys(kinds), [])
  const { sent, received, out } = outboxKeys(keys.tag)
  const outboxes = await orElse(redis.hkeys(sent), [])
  const names = await orElse(allRanked(redis, gatesKey(keys.tag)), [])
  const gates = names.filter(isGate).map((name) => gateKeys(keys.tag, name))
  const queued = await Promise.all(
    pools.map(async (pool) => {
      const some = await orElse(redis.smembers(kindQueues(pool)), [])
      return [...new Set([...known, ...some])].map((kind) => kindQueue(pool, kind))
    }),
  )
  const sorted = {
    hash: [
      meta,
      nodes,
      nodeSlotsKey(keys.tag),
      seen,
      kinds,
      retired,
      sent,
      received,
      ...nodeIds.map(claims),
      ...gates.map(({ gate }) => gate),
    ],
    zset: [
      leases,
      timers,
      sessions,
      ends,
      redriven,
      openLettersKey(keys.tag),
      asks,
      formerKey(keys.tag),
      clocks,
      ...pools.flatMap((pool) => [run(pool), wakeups(pool), busy(pool)]),
      ...queued.flat(),
      gatesKey(keys.tag),
      ...gates.flatMap((gate) => [gate.in, gate.waiting]),
    ],
    set: [cancelling, keys.pools, ...pools.map(kindQueues)],
    list: [...outboxes.map(out), ...gates.map(({ begun }) => begun)],
    stream: [events, dead],
    string: pools.flatMap((pool) => [slots(pool), workersPerWake(pool)]),
  }
  const all = Object.entries(sorted).flatMap(([sort, keys]) => keys.map((key) => ({ sort, key })))
  const types = await Promise.all(all.map(({ key }) => redis.type(key)))
  return all.flatMap(({ sort, key }, index) => {
    const type = types[index] as string
    return type === 'none' || type === sort ? [] : [`key ${key} is a ${type} and should be a ${sort}`]
  })
}
