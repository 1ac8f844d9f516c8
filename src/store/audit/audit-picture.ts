/**
 * Duty: the pictures of the audit: what one look at some workers and their session answers, as objects.
 * Owns: these forms, and how they are read from the answer of the script. Does not own: reading Redis (audit-store.ts).
 */
import type { Lane } from '../../core/worker/message/message.ts'
import type { FieldDamage } from '../record/field.ts'
import { permissionsName } from '../record/kept-permissions.ts'
import { readSession, type SessionRecord } from '../record/session-record.ts'
import { readRecord, type WorkerRecord } from '../record/worker-record.ts'
import { type RecordFields, toFields } from '../script/replies.ts'
import type { Reply } from '../script/script.ts'

export interface LanePicture {
  readonly length: number
  /** The first bytes of each mail. A mail that was consumed before an earlier one is empty. */
  readonly heads: readonly string[]
  /** False if the lane holds more mails than one look reads. */
  readonly isWhole: boolean
}

export interface WorkerPicture {
  readonly id: string
  readonly record: WorkerRecord
  /** Fields of its record that another program wrote over. */
  readonly fieldDamage: readonly FieldDamage[]
  readonly historyLength: number
  readonly failureJson: string
  readonly lanes: Readonly<Record<Lane, LanePicture>>
  /** The calls whose results are large, and stand beside the lane of results, by the key that holds them. */
  readonly largeCalls: readonly string[]
  /**
   * The timers whose value the worker keeps. `isTimed`: the timer also stands in the set of timers, with its time. Null, here and below: the key
   * cannot be read.
   */
  readonly timers: readonly { readonly id: string; readonly isTimed: boolean | null }[]
  /** The asks that are open as the worker itself says. */
  readonly openAsks: readonly AskPicture[]
  /** Its timers and asks are of this later moment, since a look at many workers reads few of them; absent: of the moment of the picture. */
  readonly signalsAt?: Pick<WorkerPicture, 'record' | 'lanes'>
  /** False: they were not read. */
  readonly hasSignals: boolean
  readonly isLeased: boolean | null
  /** The pools in whose run queue it stands: its own at the moment of the picture, others a moment later (PICTURE-4). */
  readonly queuedIn: readonly string[]
  /** The pools that are registered, in one way or another. */
  readonly pools: readonly string[]
  /** Its own pool, if its run queue cannot be read; and those of others in the picture. */
  readonly unreadPools: readonly string[]
  readonly hasRetryTimer: boolean | null
  /**
   * True if the gate at which the worker waits, or in which its run is in progress, lists the worker. Null: the worker is at no gate, or a key of the
   * gate cannot be read.
   */
  readonly isAtGate: boolean | null
}

/** An ask that its worker holds open, and what the ask's record and the sets of asks say of it. */
export interface AskPicture {
  readonly id: string
  /** Empty if the ask has no record. */
  readonly workerId: string
  readonly run: number
  /** Empty while the ask is open. */
  readonly state: string
  readonly isInInbox: boolean | null
  /** Null: the ask never expires, or that cannot be read. */
  readonly isTimed: boolean | null
  /** Sentences about its record. */
  readonly damage: readonly string[]
}

/** A worker or a session with damaged keys. `keys` has a sentence for each. */
export interface Damaged {
  readonly id: string
  readonly keys: readonly string[]
}

export interface SessionPicture {
  readonly id: string
  /** The record of the session's root; null if there is none. */
  readonly record: SessionRecord | null
  /** Fields of its root's record that another program wrote over. */
  readonly fieldDamage: readonly FieldDamage[]
  readonly listed: number
  readonly cancelled: readonly string[]
  readonly isIndexed: boolean | null
  readonly isCancelling: boolean | null
  /** Whether the index of ends says that the session has ended; undefined: the session is not in the index. Null: the index cannot be read. */
  readonly isListedAsEnded: boolean | null | undefined
  /** True if sweeps have still to end workers that a cancel stopped, or to look for them. */
  readonly hasWorkersToEnd: boolean
  /** Sentences about damaged keys. If there are any, everything above except `isIndexed` is unknown. */
  readonly damage: readonly string[]
  /** Blobs whose keys do not hold what the index says, and `bytes` if the sum in the index is wrong. */
  readonly brokenBlobs: readonly { readonly id: string; readonly told: string; readonly there: string }[]
}

export interface Picture {
  readonly session: SessionPicture | null
  readonly workers: readonly WorkerPicture[]
  /** Ids without a record. `isListed`: the session lists it; null: nobody looked. */
  readonly missing: readonly { readonly id: string; readonly isListed: boolean | null }[]
  readonly damaged: readonly Damaged[]
  /** Digests under which the session of a worker keeps its permissions although the text has another digest. */
  readonly brokenPermissions: readonly string[]
}

/** A record as one look answers it. Its permissions are as it names them. */
export interface LookedRecord {
  readonly id: string
  readonly fields: RecordFields
}

const isRead = (worker: Reply) => worker.length > 3

/** The records in the answer of one look. */
export function recordsIn(reply: Reply): LookedRecord[] {
  const [, workers] = reply as [Reply, Reply[]]
  return workers.filter(isRead).map(([id, flat]) => ({ id: String(id), fields: toFields(flat as string[]) }))
}

/** Reads the answer of one look. `records`: those in it, with the texts of their permissions. */
export function pictureOf(
  reply: Reply,
  records: readonly RecordFields[],
  sessionId: string | null,
  pools: readonly string[],
): Picture {
  const [session, workers, unreadPools] = reply as [Reply, Reply[], string[]]
  const damaged = workers.filter((worker) => worker[1] === 'damaged')
  return {
    session: sessionId === null ? null : sessionPicture(sessionId, session),
    workers: workers
      .filter(isRead)
      .map((worker, index) => workerPicture(worker, records[index] as RecordFields, unreadPools, pools)),
    missing: workers
      .filter(({ length }) => length === 2)
      .map(([id, isListed]) => ({ id: String(id), isListed: isThere(isListed as number | null) })),
    damaged: damaged.map(([id, , keys]) => ({ id: String(id), keys: keys as string[] })),
    brokenPermissions: brokenIn(recordsIn(reply), records),
  }
}

/** The digests in these records that the texts which were read under them do not have. */
function brokenIn(named: readonly LookedRecord[], records: readonly RecordFields[]): string[] {
  const broken = named.flatMap(({ fields }, index) => {
    const [name = '', text = ''] = [fields.permissions, records[index]?.permissions]
    return name === text || permissionsName(text) === name ? [] : name.slice(1)
  })
  return [...new Set(broken)]
}

/** Reads the answer of a script whether a worker stands in a set. */
const isThere = (answer: number | null) => (answer === null ? null : answer === 1)

function sessionPicture(id: string, reply: Reply): SessionPicture {
  const [flat, listed, cancelled, isIndexed, isCancelling, damage, blobs, endScore, toEnd] = reply as [
    string[],
    number,
    string[],
    number | null,
    number | null,
    string[],
    [string, string, string][],
    string | null,
    number,
  ]
  const fields = toFields(flat)
  const { session, damage: fieldDamage } = readSession(fields)
  return {
    id,
    record: fields.kind === undefined ? null : session,
    fieldDamage: fields.kind === undefined ? [] : fieldDamage,
    listed,
    cancelled,
    isIndexed: isThere(isIndexed),
    isCancelling: isThere(isCancelling),
    hasWorkersToEnd: toEnd === 1,
    isListedAsEnded: endScore === null ? null : endScore === '' ? undefined : Number(endScore) >= 0,
    damage,
    brokenBlobs: blobs.map(([id, told, there]) => ({ id, told, there })),
  }
}

function workerPicture(
  reply: Reply,
  fields: RecordFields,
  unreadPools: readonly string[],
  pools: readonly string[],
): WorkerPicture {
  const [
    id,
    ,
    historyLength,
    failureJson,
    signals,
    results,
    inbox,
    timers,
    leased,
    queuedIn,
    retry,
    openAsks,
    ,
    gate,
    largeCalls,
  ] = reply as [
    string,
    string[],
    number,
    string,
    Reply,
    Reply,
    Reply,
    [string, number | null][] | null,
    number | null,
    string[],
    number | null,
    Reply[] | null,
    number,
    number | null,
    string[],
  ]
  const { record, damage } = readRecord(id, fields)
  return {
    id,
    record,
    fieldDamage: damage,
    historyLength,
    failureJson,
    lanes: { signals: lanePicture(signals), results: lanePicture(results), inbox: lanePicture(inbox) },
    largeCalls,
    timers: timers?.map(([timer, isTimed]) => ({ id: timer, isTimed: isThere(isTimed) })) ?? [],
    openAsks: openAsks?.map(askPicture) ?? [],
    hasSignals: timers !== null,
    isLeased: isThere(leased),
    queuedIn,
    unreadPools,
    pools,
    hasRetryTimer: isThere(retry),
    isAtGate: isThere(gate),
  }
}

function askPicture(reply: Reply): AskPicture {
  const [id, workerId, run, state, expires, isInInbox, isTimed, damage] = reply as [
    string,
    string,
    string,
    string,
    number,
    number | null,
    number | null,
    string[],
  ]
  return {
    id,
    workerId,
    run: Number(run),
    state,
    isInInbox: isThere(isInInbox),
    isTimed: expires === 1 ? isThere(isTimed) : null,
    damage,
  }
}

function lanePicture(reply: Reply): LanePicture {
  const [length, heads, whole] = reply as [number, string[], number]
  return { length, heads, isWhole: whole === 1 }
}
