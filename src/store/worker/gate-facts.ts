/**
 * Duty: read the gates at which workers wait, as people are told of them. It never writes.
 * GATE-FACTS-1 One read for any number of workers. A gate that cannot be read is left out: its worker waits all the same, and the audit names the key.
 */
import type { GateFacts } from '../../core/worker/gates.ts'
import { gateKeys, gatesKey, type PartitionKeys } from '../keys.ts'
import type { WorkerRecord } from '../record/worker-record.ts'
import type { Redis } from '../redis/redis.ts'
import { orElse, repliesOf } from '../script/replies.ts'

interface Row {
  readonly id: string
  readonly record: WorkerRecord
}

/** By worker; those that wait at no gate are not there. */
export async function gateFactsOf(
  redis: Redis,
  keys: PartitionKeys,
  rows: readonly Row[],
): Promise<ReadonlyMap<string, GateFacts>> {
  const waiting = rows.flatMap(({ id, record }) => {
    const gate = gateOf(record)
    return gate === null ? [] : [{ id, record, ...gate }]
  })
  if (waiting.length === 0) return new Map()
  const reading = redis.pipeline()
  for (const { id, gate, sort } of waiting) {
    const at = gateKeys(keys.tag, gate)
    reading.hmget(at.gate, 'key', 'most', 'perMs').zrank(at.waiting, id)
    if (sort === 'runs') reading.zcard(at.in)
    else reading.llen(at.begun)
  }
  const replies = await repliesOf(reading)
  return new Map(
    waiting.flatMap(({ id, record, sort }, index) => {
      const [numbers, ahead, taken] = replies.slice(3 * index, 3 * index + 3)
      if (!Array.isArray(numbers) || typeof numbers[1] !== 'string') return []
      const [key, most, perMs] = numbers as (string | null)[]
      const facts: GateFacts = {
        sort,
        kind: record.kind,
        key: key ?? null,
        most: Number(most),
        perMs: perMs == null ? null : Number(perMs),
        taken: Number(taken) || 0,
        ahead: Number(ahead) || 0,
      }
      return [[id, facts]]
    }),
  )
}

/** The gate at which this worker waits. */
function gateOf({ status, wait, gates, kind }: WorkerRecord): { gate: string; sort: GateFacts['sort'] } | null {
  if (status !== 'parked' || wait.kind !== 'gate' || gates === null) return null
  const { state } = gates
  if (state !== 'runs' && state !== 'rate') return null
  return { gate: `${kind}:${state}:${gates[state]}`, sort: state }
}

const gatesMost = 200

/** The gates at which somebody waits, among the first ones that a sweep looks at next; `waiting`: how many do. */
export async function busyGates(
  redis: Redis,
  keys: PartitionKeys,
): Promise<readonly (Omit<GateFacts, 'ahead'> & { readonly waiting: number })[]> {
  const all = await orElse(redis.zrange(gatesKey(keys.tag), 0, String(gatesMost - 1)), [])
  const names = all.filter(isGate)
  if (names.length === 0) return []
  const reading = redis.pipeline()
  for (const name of names) {
    const at = gateKeys(keys.tag, name)
    reading.hmget(at.gate, 'key', 'most', 'perMs').zcard(at.waiting).zcard(at.in).llen(at.begun)
  }
  const replies = await repliesOf(reading)
  return names.flatMap((name, index) => {
    const [numbers, waiting, runs, begun] = replies.slice(4 * index, 4 * index + 4)
    const [, kind, sort] = /^(.+):(runs|rate):[^:]+$/.exec(name) ?? []
    if (!Array.isArray(numbers) || typeof waiting !== 'number' || waiting === 0 || kind === undefined) return []
    const [key = null, most, perMs] = numbers as (string | null)[]
    const taken = Number(sort === 'runs' ? runs : begun) || 0
    const facts = { sort: sort as GateFacts['sort'], kind, key, most: Number(most), taken, waiting }
    return [{ ...facts, perMs: perMs == null ? null : Number(perMs) }]
  })
}

/** The set of gates also holds runs whose gates are in another partition; their names contain spaces. */
export function isGate(name: string): boolean {
  return !name.includes(' ')
}
