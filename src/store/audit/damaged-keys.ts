/** Duty: look at the sort of each key that belongs to a partition as a whole. It never writes. */

import { formerKey, gateKeys, gatesKey, nodeSlotsKey, openLettersKey, outboxKeys, type PartitionKeys } from '../keys.ts'
import { poolOfKindLine } from '../record/register-line.ts'
import { allFields, allRanked } from '../redis/large-keys.ts'
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
  const { run, wakeups, busy, slots, workersPerWake, claims, clocks, kindQueues } = keys
  const nodeIds = await orElse(redis.hkeys(nodes), [])
  const { sent, received, out } = outboxKeys(keys.tag)
  const outboxes = await orElse(redis.hkeys(sent), [])
  const names = await orElse(allRanked(redis, gatesKey(keys.tag)), [])
  const gates = names.filter(isGate).map((name) => gateKeys(keys.tag, name))
  const queued = await kindQueuesOf(redis, keys, pools)
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
      ...queued,
      gatesKey(keys.tag),
      ...gates.flatMap((gate) => [gate.in, gate.waiting]),
    ],
    set: [cancelling, keys.pools, ...pools.map(kindQueues)],
    list: [...outboxes.map(out), ...gates.map(({ begun }) => begun)],
    stream: [events, dead],
    string: pools.flatMap((pool) => [slots(pool), workersPerWake(pool)]),
  }
  const all = Object.entries(sorted).flatMap(([sort, keys]) => keys.map((key) => ({ sort, key })))
  const types = await typesOf(
    redis,
    all.map(({ key }) => key),
  )
  return all.flatMap(({ sort, key }, index) => {
    const type = types[index] as string
    return type === 'none' || type === sort ? [] : [`key ${key} is a ${type} and should be a ${sort}`]
  })
}

/** The queues of one kind each that may be there: of the kinds of each pool, and of those that have one. */
async function kindQueuesOf(redis: Redis, keys: PartitionKeys, pools: readonly string[]): Promise<string[]> {
  const lines = Object.entries(await orElse(allFields(redis, keys.kinds), {}))
  const registered = Map.groupBy(lines, ([, line]) => poolOfKindLine(line))
  const queues = await Promise.all(
    pools.map(async (pool) => {
      const queued = await orElse(redis.smembers(keys.kindQueues(pool)), [])
      const own = registered.get(pool)?.map(([kind]) => kind) ?? []
      return [...new Set([...own, ...queued])].map((kind) => keys.kindQueue(pool, kind))
    }),
  )
  return queues.flat()
}

/** There may be a hundred thousand keys. */
async function typesOf(redis: Redis, keys: readonly string[]): Promise<string[]> {
  const types: string[] = []
  for (let from = 0; from < keys.length; from += 1_000)
    types.push(...(await Promise.all(keys.slice(from, from + 1_000).map((key) => redis.type(key)))))
  return types
}
