/**
 * Duty: the pictures of the audit: what one look at some workers and their session answers, as objects.
 * Owns: these forms, and how they are read from the answer of the script. Does not own: reading Redis (audit-store.ts).
 */
import type { Lane } from '../../core/worker/message.ts'
import type { FieldDamage } from '../record/field.ts'
import { readSession, type SessionRecord } from '../record/session-record.ts'
import { readRecord, type WorkerRecord } from '../record/worker-record.ts'
import { toFields } from '../script/replies.ts'
import type { Reply } from '../script/script.ts'

export interface LanePicture {
  readonly length: number
  /** The beginnings of the mails. A mail that was consumed before an earlier one is empty. */
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
  /** Timers that have a value. `isTimed`: it also has a time. Null, here and below: the key cannot be read. */
  readonly timers: readonly { readonly id: string; readonly isTimed: boolean | null }[]
  /** Its asks that nobody has answered, as it says. */
  readonly openAsks: readonly AskPicture[]
  readonly isLeased: boolean | null
  /** The pools in whose run queue it stands. */
  readonly queuedIn: readonly string[]
  /** The pools that are registered, in one way or another. */
  readonly pools: readonly string[]
  /** The pools whose run queue cannot be read. */
  readonly unreadPools: readonly string[]
  readonly hasRetryTimer: boolean | null
  /** The gate at which it waits or is in progress has it. Null: it has none, or a key of it cannot be read. */
  readonly isAtGate: boolean | null
}

/** An ask that is open as its worker says, with what its record and the sets say. */
export interface AskPicture {
  readonly id: string
  /** Empty without a record. */
  readonly workerId: string
  readonly run: number
  /** Empty: open. */
  readonly state: string
  readonly isInInbox: boolean | null
  /** Null: it never expires, or it is not known. */
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
  /** The record of its root; null without one. */
  readonly record: SessionRecord | null
  /** Fields of its root's record that another program wrote over. */
  readonly fieldDamage: readonly FieldDamage[]
  readonly listed: number
  readonly cancelled: readonly string[]
  readonly isIndexed: boolean | null
  readonly isCancelling: boolean | null
  /** Whether the index of ends says that it has ended; undefined: it does not stand there. Null: the index cannot be read. */
  readonly isListedAsEnded: boolean | null | undefined
  /** Sweeps know of workers that a cancel has still to end, or that they have still to look for. */
  readonly hasWorkersToEnd: boolean
  /** Sentences about damaged keys. If there are any, everything above except `isIndexed` is unknown. */
  readonly damage: readonly string[]
  /** Blobs whose keys are not as the index says, and `bytes` if its sum is wrong. */
  readonly brokenBlobs: readonly { readonly id: string; readonly told: string; readonly there: string }[]
  /** Digests under which it keeps permissions whose text has another one. */
  readonly brokenPermissions: readonly string[]
}

export interface Picture {
  readonly session: SessionPicture | null
  readonly workers: readonly WorkerPicture[]
  /** Ids without a record. `isListed`: the session lists it. */
  readonly missing: readonly { readonly id: string; readonly isListed: boolean }[]
  readonly damaged: readonly Damaged[]
}

/** Reads the answer of a script whether a worker stands in a set. */
const isThere = (answer: number | null) => (answer === null ? null : answer === 1)

export function sessionPicture(id: string, reply: Reply): SessionPicture {
  const [flat, listed, cancelled, isIndexed, isCancelling, damage, blobs, endScore, toEnd, permissions] = reply as [
    string[],
    number,
    string[],
    number | null,
    number | null,
    string[],
    [string, string, string][],
    string | null,
    number,
    string[],
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
    brokenPermissions: permissions,
  }
}

export function workerPicture(reply: Reply, unreadPools: readonly string[], pools: readonly string[]): WorkerPicture {
  const [
    id,
    flat,
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
  ] = reply as [
    string,
    string[],
    number,
    string,
    Reply,
    Reply,
    Reply,
    [string, number | null][],
    number | null,
    string[],
    number | null,
    Reply[],
    number,
    number | null,
  ]
  const { record, damage } = readRecord(id, toFields(flat))
  return {
    id,
    record,
    fieldDamage: damage,
    historyLength,
    failureJson,
    lanes: { signals: lanePicture(signals), results: lanePicture(results), inbox: lanePicture(inbox) },
    timers: timers.map(([timer, isTimed]) => ({ id: timer, isTimed: isThere(isTimed) })),
    openAsks: openAsks.map(askPicture),
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
