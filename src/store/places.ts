/** Duty: the partitions of a namespace, each with the connection to where its keys are, and the caller of its scripts. */
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { type Place, placesOf } from './keys.ts'
import type { Connections } from './redis/connections.ts'
import type { Redis } from './redis/redis.ts'
import { ScriptCaller } from './script/script.ts'

export interface OpenPlace extends Place {
  readonly redis: Redis
  readonly caller: ScriptCaller
}

/** Partitions that share a connection share its caller. */
export function openPlaces(
  connections: Connections,
  namespace: string,
  partitions: number,
  log?: WorkerLog,
): OpenPlace[] {
  const callers = new Map<Redis, ScriptCaller>()
  return placesOf(namespace, partitions).map((one) => {
    const redis = connections.at(one.keys.tag)
    const caller = callers.get(redis) ?? new ScriptCaller(redis, undefined, log)
    callers.set(redis, caller)
    return { ...one, redis, caller }
  })
}
