/**
 * Duty: read when workers were queued, when what they wait for is due, and until when their leases last. It never writes.
 * WORKER-TIMES-1 It makes two reads for any number of workers. A worker with very many timers has no due time, so that both stay short.
 */
import { type PartitionKeys, workerKeys } from '../keys.ts'
import type { WorkerRecord } from '../record/worker-record.ts'
import type { Redis } from '../redis/redis.ts'
import { orElse, repliesOf } from '../script/replies.ts'

/** The times of a worker, in ms since 1970, by the clock of Redis; null where one does not apply. */
export interface WorkerTimes {
  /** Since when it is in a run queue. */
  readonly queuedAt: number | null
  /** When its retry, or the first of its timers, is due. */
  readonly dueAt: number | null
  /** When the lease of its turn ends, unless that is renewed. */
  readonly leaseEndsAt: number | null
}

const timersMost = 20

interface Row {
  readonly id: string
  readonly record: WorkerRecord
}

/** The times are in the order of `rows`. */
export async function workerTimesOf(redis: Redis, keys: PartitionKeys, rows: readonly Row[]): Promise<WorkerTimes[]> {
  const reading = redis.pipeline()
  for (const { id, record } of rows) {
    if (record.status === 'running') reading.zscore(keys.leases, id)
    else if (isTimed(record)) reading.hrandfield(workerKeys(keys.tag, id).timers, timersMost + 1)
    else if (isRetried(record)) reading.zscore(keys.timers, `${id}:retry`)
  }
  const replies = (await repliesOf(reading)).values()
  const next = () => replies.next().value
  const times = rows.map(({ id, record }) => {
    if (record.status === 'queued') return { ...none, queuedAt: record.queuedAt }
    if (record.status === 'running') return { ...none, leaseEndsAt: scoreIn(next()) }
    if (isTimed(record)) return { ...none, timers: timersIn(next()).map((timer) => `${id}:${timer}`) }
    return isRetried(record) ? { ...none, dueAt: scoreIn(next()) } : none
  })
  const timers = times.flatMap((one) => one.timers)
  const scores = timers.length === 0 ? [] : await orElse(redis.zmscore(keys.timers, ...timers), [])
  let from = 0
  return times.map(({ timers: own, ...rest }) => {
    const due = scores.slice(from, from + own.length).flatMap((score) => (score === null ? [] : [Number(score)]))
    from += own.length
    return due.length === 0 ? rest : { ...rest, dueAt: Math.min(...due) }
  })
}

const none = { queuedAt: null, dueAt: null, leaseEndsAt: null, timers: [] as readonly string[] }

function isRetried({ status, wait }: WorkerRecord): boolean {
  return status === 'parked' && wait.kind === 'retry'
}

function isTimed(record: WorkerRecord): boolean {
  return record.status === 'parked' && !isRetried(record) && record.signalsOpen > 0
}

/** A key that another program wrote over answers an error: the audit names it. */
function scoreIn(reply: unknown): number | null {
  return typeof reply === 'string' ? Number(reply) : null
}

/** The timers of a worker; none if there are too many to look at. */
function timersIn(reply: unknown): readonly string[] {
  return Array.isArray(reply) && reply.length <= timersMost ? reply.map(String) : []
}
