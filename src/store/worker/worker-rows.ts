/**
 * Duty: read the rows of workers: the record of each, and what else in Redis a report needs of it. It never writes.
 * WORKER-ROWS-1 Each read is bounded by the number of ids. A key that cannot be read damages the row of its own worker alone.
 */
import type { RuntimeError } from '../../core/errors.ts'
import type { GateFacts } from '../../core/worker/gates.ts'
import type { Lane } from '../../core/worker/message/message.ts'
import { newestOf } from '../history/pack.ts'
import { type PartitionKeys, workerKeys } from '../keys.ts'
import { noSignals, type OpenSignals, openSignalsOf } from '../person/open-asks.ts'
import { type Pause, pausesOf } from '../person/pauses.ts'
import type { FieldDamage } from '../record/field.ts'
import { readPermissions } from '../record/kept-permissions.ts'
import { drainingIn, type NodeRow } from '../record/register-line.ts'
import { isOfSession, readSession } from '../record/session-record.ts'
import { nonceIn, readRecord, unreadableRecord, type WorkerRecord } from '../record/worker-record.ts'
import type { Redis } from '../redis/redis.ts'
import { storeError } from '../redis/store-error.ts'
import { orElse, type RecordFields, repliesOf } from '../script/replies.ts'
import { type GatePlace, gateFactsOf } from './gate-facts.ts'
import { type WorkerTimes, workerTimesOf } from './worker-times.ts'

export interface WorkerRow {
  readonly id: string
  readonly record: WorkerRecord
  readonly failureJson: string | null
  /** The node that runs it; null if none does, or if it is forgotten. */
  readonly node: string | null
  /** When that node was last seen, in ms since 1970. */
  readonly nodeSeenAt: number | null
  readonly times: WorkerTimes
  /** When it was read, in ms since 1970 by the clock of Redis; 0 unless the worker is queued or running. */
  readonly readAt: number
  /** False for a queued worker whose kind no live node hosts. */
  readonly isHosted: boolean
  /** What keeps a queued worker from being claimed; null: no pause does. */
  readonly pause: Pause | null
  readonly historyLength: number
  /** When its newest history entry was written; null without a readable entry. */
  readonly updatedAt: number | null
  /** True if its newest history entry says that its run was cancelled. */
  readonly wasCancelled: boolean
  readonly pending: Readonly<Record<Lane, number>>
  /** What keeps a parked worker waiting: its timers, and what it has asked. */
  readonly open: OpenSignals
  /** The gate at which it waits; null if it waits at none, or the gate cannot be read. */
  readonly gate: GateFacts | null
  /** Fields of its record that another program wrote over. `record` has their defaults. */
  readonly fieldDamage: readonly FieldDamage[]
  /** An error that names a key which another program wrote over. The row shows such a key as empty. */
  readonly keyDamage: RuntimeError | null
}

/** A stalled node was not seen for the time of a lease. */
export interface NodesBySight {
  readonly now: number
  readonly live: readonly NodeRow[]
  readonly stalled: readonly NodeRow[]
}

/** Entries may be large, and only their time is needed here. So only this many are read at once. */
const entriesAtOnce = 32

export class WorkerRows {
  readonly #redis: Redis
  readonly #keys: PartitionKeys
  readonly #first: GatePlace

  /** `first`: the first partition, which has the gates of all. */
  constructor(redis: Redis, keys: PartitionKeys, first: GatePlace) {
    this.#redis = redis
    this.#keys = keys
    this.#first = first
  }

  /** `readNodes` is asked only if a worker is queued or running. */
  async of(ids: readonly string[], readNodes: () => Promise<NodesBySight>): Promise<WorkerRow[]> {
    const pipeline = this.#redis.pipeline()
    for (const id of ids) {
      const keys = workerKeys(this.#keys.tag, id)
      pipeline
        .hgetall(keys.record)
        .get(keys.failure)
        .llen(keys.inbox)
        .llen(keys.results)
        .llen(keys.signals)
        .llen(keys.log)
    }
    const replies = await repliesOf(pipeline)
    const records = ids.map((id, index) => ({ id, fields: fieldsIn(replies[index * 6]) }))
    const fields = await readPermissions(this.#redis, this.#keys, records)
    const rows = ids.flatMap((id, index) => rowOf(id, fields[index], replies.slice(index * 6, index * 6 + 6)) ?? [])
    const pending = await this.#pendingOf(rows, new Set(ids.filter((_, index) => fields[index]?.steered !== undefined)))
    const isAny = (status: string) => rows.some(({ record }) => record.status === status)
    const isOfNodes = isAny('running') || isAny('queued')
    const { now, live, stalled } = isOfNodes ? await readNodes() : { now: 0, live: [], stalled: [] }
    const nodes = [...live, ...stalled]
    const holders = isAny('running') ? await this.#holders(nodes) : undefined
    const hosted = new Set(live.flatMap((node) => (drainingIn(node) === undefined ? node.kinds : [])))
    const times = await workerTimesOf(this.#redis, this.#keys, rows)
    const pauses = await pausesOf(this.#redis, this.#keys, rows)
    const newest = (await this.#newestEntries(rows)).map(newestOf)
    const open = await this.#openSignals(rows)
    const gates = await gateFactsOf({ redis: this.#redis, keys: this.#keys }, this.#first, rows)
    return rows.map((row, index) => ({
      ...row,
      pending: pending[index] ?? row.pending,
      ...holderOf(holders?.get(nonceIn(row.record.token))),
      times: times[index] as WorkerTimes,
      readAt: now,
      open: open.get(row.id) ?? noSignals,
      gate: gates.get(row.id) ?? null,
      updatedAt: newest[index]?.at ?? null,
      wasCancelled: newest[index]?.type === 'cancelled',
      isHosted: row.record.status !== 'queued' || hosted.has(row.record.kind),
      pause: pauses[index] ?? null,
    }))
  }

  /**
   * How many mails wait: those that were taken out of their order are empty until the ones in front of them have gone. Only results, and the inputs of
   * a worker that was steered at some time, are taken so; the first one of a lane never is.
   */
  async #pendingOf(rows: readonly Pick<WorkerRow, 'id' | 'pending'>[], steered: ReadonlySet<string>) {
    const countEmpty = async (lane: string) => (await orElse(this.#redis.lpos(lane, '', 'COUNT', 0), [])).length
    return Promise.all(
      rows.map(async ({ id, pending: { inbox, results, signals } }) => {
        const keys = workerKeys(this.#keys.tag, id)
        const inputsTaken = inbox > 1 && steered.has(id) ? await countEmpty(keys.inbox) : 0
        const resultsTaken = results > 1 ? await countEmpty(keys.results) : 0
        return { inbox: inbox - inputsTaken, results: results - resultsTaken, signals }
      }),
    )
  }

  async #openSignals(rows: readonly Pick<WorkerRow, 'id' | 'record'>[]): Promise<ReadonlyMap<string, OpenSignals>> {
    const waiting = rows.filter(({ record }) => record.status === 'parked' && record.signalsOpen > 0)
    const ids = waiting.map(({ id }) => id)
    const found = ids.length === 0 ? [] : await openSignalsOf(this.#redis, this.#keys.tag, ids)
    return new Map(ids.map((id, index) => [id, found[index] as OpenSignals]))
  }

  async #newestEntries(rows: readonly { readonly id: string }[]): Promise<(string | null)[]> {
    const entries: (string | null)[] = []
    for (let from = 0; from < rows.length; from += entriesAtOnce) {
      const page = rows.slice(from, from + entriesAtOnce)
      entries.push(
        ...(await Promise.all(
          page.map(({ id }) => orElse(this.#redis.lindex(workerKeys(this.#keys.tag, id).log, -1), null)),
        )),
      )
    }
    return entries
  }

  /** From the nonce of a claim to the node whose slot holds it. No two claims have the same nonce. */
  async #holders(nodes: readonly NodeRow[]): Promise<ReadonlyMap<string, NodeRow>> {
    const held = new Map<string, NodeRow>()
    for (const node of nodes) {
      for (const assignment of await this.#redis.hvals(this.#keys.claims(node.id))) {
        const [nonce = ''] = assignment.split(' ')
        held.set(nonce, node)
      }
    }
    return held
  }
}

function holderOf(node: NodeRow | undefined): Pick<WorkerRow, 'node' | 'nodeSeenAt'> {
  return { node: node?.id ?? null, nodeSeenAt: node?.lastSeen ?? null }
}

/** Undefined if the key of the record is of another sort. */
function fieldsIn(reply: unknown): RecordFields | undefined {
  return reply instanceof Error ? undefined : (reply as RecordFields)
}

/** Reads the answers of the commands in `of` for one worker, with the fields of its record. Null if it has no record. */
function rowOf(
  id: string,
  fields: RecordFields | undefined,
  read: readonly unknown[],
): Omit<
  WorkerRow,
  'node' | 'nodeSeenAt' | 'times' | 'readAt' | 'isHosted' | 'pause' | 'updatedAt' | 'wasCancelled' | 'open' | 'gate'
> | null {
  const error = read.find((reply) => reply instanceof Error)
  const [, failureJson = null, inbox = 0, results = 0, signals = 0, historyLength = 0] = read.map((reply) =>
    reply instanceof Error ? undefined : reply,
  ) as [unknown, (string | null)?, number?, number?, number?, number?]
  // A script may write a score for a root that is gone: that alone is no record.
  if (fields !== undefined && fields.status === undefined) return null
  const { record, damage } =
    fields === undefined ? { record: unreadableRecord(id), damage: [] } : readRecord(id, fields)
  const ofSession = readSession(fields ?? {}).damage.filter(isOfSession)
  const keyDamage = error === undefined ? null : storeError(error, 'reading workers')
  return {
    id,
    record,
    failureJson,
    historyLength,
    pending: { inbox, results, signals },
    fieldDamage: [...damage, ...ofSession],
    keyDamage,
  }
}
