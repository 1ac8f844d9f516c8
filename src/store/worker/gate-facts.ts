/**
 * Duty: read the gates at which workers wait, as people are told of them. It never writes.
 * GATE-FACTS-1 One read for any number of workers. A gate that cannot be read is left out: its worker waits all the same, and the audit names the key.
 * GATE-FACTS-2 While the first partition is away, its gates are left out, and workers of the others are shown.
 */
import { type BusyGate, type GateFacts, guestName } from '../../core/worker/gates.ts'
import { gateKeys, gatesKey, type PartitionKeys } from '../keys.ts'
import type { WorkerRecord } from '../record/worker-record.ts'
import { type Redis, withDeadline } from '../redis/redis.ts'
import { orElse, repliesOf } from '../script/replies.ts'

interface Row {
  readonly id: string
  readonly record: WorkerRecord
}

/** Where gates are: in a partition. */
export interface GatePlace {
  readonly redis: Redis
  readonly keys: PartitionKeys
}

interface Waiting extends Row {
  readonly gate: string
  readonly sort: GateFacts['sort']
  /** By which the gate has it. */
  readonly name: string
  readonly isGuest: boolean
}

/** How long the first partition may take: others wait for what it says. */
const firstMsMax = 1_000

/** By worker; those that wait at no gate are not there. Workers of another partition than the first wait at gates of the first. */
export async function gateFactsOf(
  own: GatePlace,
  first: GatePlace,
  rows: readonly Row[],
): Promise<ReadonlyMap<string, GateFacts>> {
  const waiting = rows.flatMap((row) => waitingAt(row) ?? [])
  const found = await Promise.all([
    readFacts(
      own,
      waiting.filter(({ isGuest }) => !isGuest),
    ),
    withDeadline(
      readFacts(
        first,
        waiting.filter(({ isGuest }) => isGuest),
      ),
      firstMsMax,
    ).catch(() => []),
  ])
  return new Map(found.flat())
}

async function readFacts({ redis, keys }: GatePlace, waiting: readonly Waiting[]): Promise<[string, GateFacts][]> {
  if (waiting.length === 0) return []
  const reading = redis.pipeline()
  for (const { name, gate, sort } of waiting) {
    const at = gateKeys(keys.tag, gate)
    reading.hmget(at.gate, 'key', 'most', 'perMs').zrank(at.waiting, name)
    if (sort === 'runs') reading.zcard(at.in)
    else reading.llen(at.begun)
  }
  const replies = await repliesOf(reading)
  return waiting.flatMap(({ id, record, sort }, index): [string, GateFacts][] => {
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
  })
}

/** The gate at which this worker waits. */
function waitingAt({ id, record }: Row): Waiting | null {
  const { status, wait, gates, kind } = record
  if (status !== 'parked' || wait.kind !== 'gate' || gates === null) return null
  const { state, guestVersion: version } = gates
  if (state !== 'runs' && state !== 'rate') return null
  const name = version === undefined ? id : guestName({ workerId: id, kind, version }, gates)
  return { id, record, gate: `${kind}:${state}:${gates[state]}`, sort: state, name, isGuest: version !== undefined }
}

const gatesMost = 200

/** The gates at which somebody waits, among the first ones that a sweep looks at next; `waiting`: how many do. */
export async function busyGates(redis: Redis, keys: PartitionKeys): Promise<readonly BusyGate[]> {
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
