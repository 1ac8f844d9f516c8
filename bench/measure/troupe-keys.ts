/** Duty: everything that the bench knows of troupe's keys: the owner of a key, and the length of a worker's history. */
import type { Redis } from 'ioredis'
import { partitionOf } from '../../src/core/ids.ts'
import { tagOf, workerKeys } from '../../src/store/keys.ts'

/**
 * history: the history of a worker; holds the payload.
 * worker:  its record and its other own keys.
 * session: its members, and the results of its earlier runs.
 * shared:  one key for all sessions that grows with each of them (the index of sessions).
 * passing: bounded by a trim, or by an expiry of minutes, whatever the number of sessions (events, idempotency keys, queues).
 */
export type KeyOwner = 'history' | 'worker' | 'session' | 'shared' | 'passing'

export function ownerOf(key: string): KeyOwner {
  const name = key.slice(key.indexOf('}:') + 2)
  if (name.startsWith('w:')) return name.endsWith(':log') ? 'history' : 'worker'
  if (name.startsWith('s:')) return 'session'
  return name === 'sessions' ? 'shared' : 'passing'
}

export function historyLength(redis: Redis, namespace: string, workerId: string): Promise<number> {
  return redis.llen(workerKeys(tagOf(namespace, partitionOf(workerId)), workerId).log)
}
