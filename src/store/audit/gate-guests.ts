/**
 * Duty: read the runs that wait or are in progress at gates of the first partition, there and in their own partition, so that the audit can compare the
 * two. It never writes.
 */
import { decodeGates, guestIn } from '../../core/worker/gates.ts'
import { readEntry } from '../history/read-entries.ts'
import { gateKeys, gatesKey, type PartitionKeys, workerKeys } from '../keys.ts'
import { allRanked } from '../redis/large-keys.ts'
import type { Redis } from '../redis/redis.ts'
import { orElse, scored } from '../script/replies.ts'
import { isGate } from '../worker/gate-facts.ts'

/** A run of another partition in the first one. */
export interface GateGuest {
  /** The key of the set that has it: the runs in progress at a gate, or those that wait there. */
  readonly key: string
  readonly name: string
  readonly workerId: string
  readonly version: number
  /** When it came there, in ms. */
  readonly at: number
}

export interface GuestRun {
  readonly isOver: boolean
  /** When its worker recorded something last, in ms. */
  readonly recordedAt: number
}

/** It reads at most so many members of each set: those that came first. */
const oldestMost = 1_000

export async function gateGuests(redis: Redis, keys: PartitionKeys): Promise<GateGuest[]> {
  const names = await orElse(allRanked(redis, gatesKey(keys.tag)), [])
  const sets = names.filter(isGate).flatMap((name) => {
    const { in: counted, waiting } = gateKeys(keys.tag, name)
    return [counted, waiting]
  })
  const found: GateGuest[] = []
  for (const key of sets) {
    for (const [name, at] of scored(await orElse(redis.zrange(key, 0, String(oldestMost - 1), 'WITHSCORES'), []))) {
      const guest = guestIn(name)
      if (guest !== null) found.push({ key, name, ...guest, at })
    }
  }
  return found
}

/** Null: the worker has no record, or it cannot be read. */
export async function guestRun(redis: Redis, keys: PartitionKeys, guest: GateGuest): Promise<GuestRun | null> {
  const { record, log } = workerKeys(keys.tag, guest.workerId)
  const fields = await orElse(redis.hmget(record, 'gates', 'status', 'commit', 'kind'), null)
  if (fields === null) return { isOver: false, recordedAt: 0 }
  const [text, status, commit, kind] = fields
  if (kind == null) return null
  const gates = decodeGates(text ?? '')
  const isOfGates = gates?.guestVersion === guest.version
  const isNow = Number(/:(\d+)$/.exec(commit ?? '')?.[1] ?? 0) === guest.version
  const mayCome = isNow && (status === 'running' || status === 'queued')
  const entry = await orElse(readEntry(redis, log, -1), null)
  return { isOver: isOfGates ? gates.state === 'out' : !mayCome, recordedAt: timeOf(entry) }
}

function timeOf(entry: string | null): number {
  return Number(/"at":(\d+)/.exec(entry ?? '')?.[1] ?? 0)
}
