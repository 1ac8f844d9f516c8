/** Duty: read which pauses hold workers back, and to which session each belongs. It never writes. */
import { type PartitionKeys, rootKey } from '../keys.ts'
import { decodePauseNote, type PauseNote } from '../record/pause-note.ts'
import type { WorkerRecord } from '../record/worker-record.ts'
import type { Redis } from '../redis/redis.ts'
import { orElse } from '../script/replies.ts'

/** The pause of one session, or of all sessions. */
export interface Pause extends PauseNote {
  readonly of: 'session' | 'all'
}

/** Null if not all sessions of the partition are paused. */
export async function pauseOfAll(redis: Redis, keys: PartitionKeys): Promise<PauseNote | null> {
  const json = await redis.hget(keys.meta, 'paused')
  return json === null ? null : decodePauseNote(json)
}

/** The pause that holds each worker, in the order of `rows`. Only queued workers wait for one to end. */
export async function pausesOf(
  redis: Redis,
  keys: PartitionKeys,
  rows: readonly { readonly record: WorkerRecord }[],
): Promise<(Pause | null)[]> {
  const ids = new Set(rows.flatMap(({ record }) => (record.status === 'queued' ? (record.sessionId ?? []) : [])))
  if (ids.size === 0) return rows.map(() => null)
  const all = await pauseOfAll(redis, keys)
  const notes = new Map<string, string>()
  await Promise.all(
    [...ids].map(async (id) => {
      const json = await orElse(redis.hget(rootKey(keys.tag, id), 'paused'), null)
      if (json !== null) notes.set(id, json)
    }),
  )
  return rows.map(({ record: { status, sessionId } }) => {
    if (status !== 'queued') return null
    const json = notes.get(sessionId ?? '')
    if (json !== undefined) return { of: 'session', ...decodePauseNote(json) }
    return all === null ? null : { of: 'all', ...all }
  })
}
