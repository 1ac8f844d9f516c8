/**
 * Duty: the calls to Redis that make a copy of a session: the cut, the keys of the copy, and its appearance.
 * FORK-STORE-1 Nothing of a copy is seen, and nothing of it stays, before `appear`.
 * FORK-STORE-2 A cut shows one moment, that of the last call: what earlier calls read is taken only if it still holds then, and what is read after it
 *     does not change.
 */
import { TransientError } from '../../core/errors.ts'
import type { Policy } from '../../core/policy.ts'
import type { Wakeup } from '../../core/ports/wake.ts'
import { RedisBlobStore } from '../blob-store.ts'
import { endpointKeys, type PartitionKeys, rootKey, sessionKeys } from '../keys.ts'
import { ReadStore } from '../read-store.ts'
import { readPermissions } from '../record/kept-permissions.ts'
import { guarded } from '../redis/guarded.ts'
import { allFields } from '../redis/large-keys.ts'
import type { Redis } from '../redis/redis.ts'
import { fieldsNamed, type RecordFields, toFields } from '../script/replies.ts'
import type { HeaderValue, Reply, ScriptCaller } from '../script/script.ts'
import { cutScript, forkScript, prepareForkScript } from '../script/scripts.ts'
import { newSeed, parseWakeups } from '../wakeups.ts'

/** A worker at the cut. */
export interface CutWorker {
  readonly id: string
  readonly fields: RecordFields
  readonly historyLength: number
  /** The other keys of the worker, each by what follows the name of its record in its name, with everything that the key holds. */
  readonly parts: Readonly<Record<string, readonly string[]>>
  /** Its timers, its retry (`retry`) and its asks that expire (`ask:<id>`), each with its time. */
  readonly due: Readonly<Record<string, string>>
  readonly asks: readonly (readonly [id: string, record: RecordFields])[]
}

export interface Cut {
  readonly kind: 'ok'
  /** The root first, and each parent before its children. */
  readonly workers: readonly CutWorker[]
  readonly cancelled: readonly string[]
  readonly reasons: RecordFields
  readonly isCancelling: boolean
  /** If the session is itself a copy: the ids that its workers had in the original, each with the id that it has here. */
  readonly originals: RecordFields
  /** How the runs of its root ended. */
  readonly results: RecordFields
}

export type CutAnswer =
  | Cut
  | { readonly kind: 'not_found' }
  | { readonly kind: 'finished'; readonly state: string }
  | { readonly kind: 'too_many'; readonly workers: number }
  /** `worker`: the one that is too large by itself; null: all of them together are. */
  | { readonly kind: 'too_large'; readonly worker: string | null }
  | { readonly kind: 'restless' }

/** A key of the copy, or a part of a list. `key`: without the tag. */
export interface Part {
  readonly key: string
  /** bytes: one piece of a string. */
  readonly sort: 'list' | 'hash' | 'set' | 'zset' | 'string' | 'bytes'
  /** How long the list, or the string in pieces, is before this part is written. */
  readonly from: number
  readonly texts: readonly (string | Buffer)[]
}

export interface AppearOrder {
  readonly sessionId: string
  readonly from: string
  readonly workers: readonly {
    readonly id: string
    readonly queued: string | null
  }[]
  /** All keys that were prepared, without the tag, and how large each is as Redis counts it. */
  readonly keys: readonly { readonly key: string; readonly sort: string; readonly size: number }[]
  readonly due: readonly string[]
  readonly open: readonly string[]
  readonly isCancelling: boolean
  readonly event: string
  readonly told: string
  /** Digest of an idempotency key of the caller. */
  readonly key?: string | undefined
}

/** again: another copy appeared under this key, and this one expires by itself. */
export type AppearAnswer =
  | { readonly kind: 'ok'; readonly wakeups: readonly Wakeup[] }
  | { readonly kind: 'again'; readonly sessionId: string }

type WorkerReply = [
  id: string,
  record: string,
  length: number,
  parts: [name: string, texts: string[]][],
  due: string[],
  asks: [id: string, record: string[]][],
  position: number,
  seen: string,
]

type CutReply = [
  kind: string,
  workers: WorkerReply[],
  cancelled: string[],
  reasons: string[],
  cancelling: number,
  result: string | null,
]

/** How often a picture is tried of a session that changes more between two calls than one call may read. */
const attemptsMost = 50

/** How many results are read at once. */
const readAtOnce = 500

export class ForkStore {
  readonly #redis: Redis
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #policy: Policy
  readonly #deadlineMs: number
  readonly #read: ReadStore
  /** The blobs of the original session. */
  readonly blobs: RedisBlobStore

  constructor(redis: Redis, caller: ScriptCaller, keys: PartitionKeys, policy: Policy, deadlineMs: number) {
    this.#redis = redis
    this.#caller = caller
    this.#keys = keys
    this.#policy = policy
    this.#deadlineMs = deadlineMs
    this.#read = new ReadStore(redis, keys)
    this.blobs = new RedisBlobStore({ redis, caller, keys, policy, deadlineMs })
  }

  async cut(sessionId: string): Promise<CutAnswer> {
    const read: WorkerReply[] = []
    let [from, isRead, bytes] = [0, false, 0]
    for (let attempt = 0; attempt < attemptsMost; ) {
      const reply = await this.#cutPart(sessionId, from, isRead ? read.map((worker) => worker[7]) : [])
      if (reply[0] === 'finished') return { kind: 'finished', state: String(reply[1]) }
      if (reply[0] === 'too_many') return { kind: 'too_many', workers: Number(reply[1]) }
      if (reply[0] === 'too_large') return { kind: 'too_large', worker: String(reply[1]) }
      if (reply[0] !== 'ok' && reply[0] !== 'part') return { kind: 'not_found' }
      for (const worker of reply[1] as unknown as WorkerReply[]) {
        bytes += bytesOf(worker) - bytesOf(read[worker[6]])
        read[worker[6]] = worker
      }
      if (bytes > this.#policy.forkTotalBytesMax) return { kind: 'too_large', worker: null }
      if (reply[0] === 'ok') return this.#whole(sessionId, read, reply as unknown as CutReply)
      // The first calls read all workers, a part in each call. Later calls read only the workers that have changed.
      if (isRead) attempt++
      isRead ||= reply[2] === ''
      from = isRead ? 0 : Number(reply[2])
    }
    return { kind: 'restless' }
  }

  #cutPart(sessionId: string, from: number, seen: readonly string[]): Promise<Reply> {
    const { tag, timers, cancelling } = this.#keys
    const { forkWorkersMax: workersMost, forkPartWorkers: partMost, forkPartBytes: bytesMost } = this.#policy
    return this.#caller.call(
      cutScript,
      { root: rootKey(tag, sessionId), workers: sessionKeys(tag, sessionId).workers, timers, cancelling },
      { session: sessionId, from, seen, workersMost, partMost, bytesMost },
      { deadlineMs: this.#deadlineMs },
    )
  }

  /** With what is read later, since it may be long and does not change: permissions, earlier results, and ids of an original. */
  async #whole(sessionId: string, read: readonly WorkerReply[], reply: CutReply): Promise<Cut> {
    const [, , cancelled, reasons, isCancelling, result] = reply
    const records = read.map(([id, record]) => ({ id, fields: toFields(record.split('\0')) }))
    const fields = await readPermissions(this.#redis, this.#keys, records)
    const last = Number(records[0]?.fields.run ?? 1) - 1
    return {
      kind: 'ok',
      workers: read.map(([id, , historyLength, parts, due, asks], index) => ({
        id,
        fields: fields[index] as RecordFields,
        historyLength,
        parts: Object.fromEntries(parts),
        due: toFields(due),
        asks: asks.map(([ask, fields]) => [ask, toFields(fields)]),
      })),
      cancelled,
      reasons: toFields(reasons),
      isCancelling: isCancelling === 1,
      originals: await this.#originals(sessionId),
      results: { ...(await this.#results(sessionId, last - 1)), ...(result !== null && { [last]: result }) },
    }
  }

  /** How the runs of the root up to this one ended. */
  async #results(sessionId: string, last: number): Promise<RecordFields> {
    const results: Record<string, string> = {}
    for (let from = 1; from <= last; from += readAtOnce) {
      const runs = Array.from({ length: Math.min(readAtOnce, last - from + 1) }, (_, index) => from + index)
      const read = () => this.#read.resultLines(sessionId, runs)
      const lines = await guarded('reading results to fork a session', read, this.#deadlineMs)
      Object.assign(results, fieldsNamed(runs.map(String), lines))
    }
    return results
  }

  #originals(sessionId: string): Promise<RecordFields> {
    const { originals } = sessionKeys(this.#keys.tag, sessionId)
    const read = () => allFields(this.#redis, originals)
    return guarded('reading ids to fork a session', read, this.#deadlineMs)
  }

  /** Entries of the original, at most `most` from this position on. */
  entries(workerId: string, from: number, most: number): Promise<string[]> {
    const read = () => this.#read.entries(workerId, from, most)
    return guarded('reading a history to fork its session', read, this.#deadlineMs)
  }

  /** Whether endpoints are told of what happens in the partition. */
  async hasEndpoints(): Promise<boolean> {
    const { since } = endpointKeys(this.#keys.tag)
    return (await guarded('looking for endpoints', () => this.#redis.exists(since), this.#deadlineMs)) === 1
  }

  /** Writes keys of the copy of this id. A call that is repeated, or comes much later, changes nothing more. */
  async prepare(copyId: string, parts: readonly Part[]): Promise<void> {
    const reply = await this.#caller.call(
      prepareForkScript,
      { root: rootKey(this.#keys.tag, copyId) },
      {
        keptMs: this.#policy.forkKeptMs,
        parts: parts.map(({ key, sort, from, texts }) => ({ key, sort, from, texts: texts.length })),
        texts: parts.flatMap(({ texts }) => texts),
      },
      { deadlineMs: this.#deadlineMs },
    )
    if (reply[0] !== 'ok') throw lost(String(reply[1]))
  }

  /** The copy that appeared under a key of this digest; null: none did. */
  known(key: string): Promise<string | null> {
    const read = () => this.#redis.get(this.#keys.idem(key))
    return guarded('reading what was forked under a key', read, this.#deadlineMs)
  }

  /** Makes the whole copy appear, with wake-ups for its workers. */
  async appear({ sessionId, event, told, key, ...order }: AppearOrder): Promise<AppearAnswer> {
    const { tag, sessions, ends, events, timers, asks, cancelling } = this.#keys
    const workers: HeaderValue = order.workers.map(({ queued, ...worker }) => ({
      ...worker,
      queued: queued ?? undefined,
    }))
    const reply = await this.#caller.call(
      forkScript,
      { root: rootKey(tag, sessionId), sessions, ends, events, timers, asks, cancelling },
      {
        session: sessionId,
        from: order.from,
        seed: newSeed(),
        wakeupMs: this.#policy.wakeupMs,
        workers,
        keys: order.keys.map(({ key, sort, size }) => `${sort} ${size} ${key}`),
        due: order.due,
        open: order.open,
        isCancelling: order.isCancelling || undefined,
        key,
        keyMs: key && this.#policy.givenKeyMs,
        event,
        told,
      },
      { deadlineMs: this.#deadlineMs },
    )
    if (reply[0] === 'again') return { kind: 'again', sessionId: String(reply[1]) }
    if (reply[0] !== 'ok') throw lost(String(reply[1]))
    return { kind: 'ok', wakeups: parseWakeups(reply[1]) }
  }
}

function bytesOf(worker: WorkerReply | undefined): number {
  if (worker === undefined) return 0
  const [, record, , parts, , asks] = worker
  const texts = [...parts, ...asks].flatMap(([, all]) => all)
  return texts.reduce((sum, text) => sum + text.length, record.length)
}

function lost(key: string): TransientError {
  return new TransientError(
    `key ${key} of the copy is not whole: Redis lost it, or the copy took too long. Nothing of the copy stays, and the session is as it was: fork it again.`,
  )
}
