/**
 * Duty: creates the sessions of one partition, in as few scripts as may hold them. Sessions that are asked for in one pass of the event loop are
 * created together.
 * CREATE-1 Each session is answered as if it had been created alone: where a script meets an error, its sessions are sent again one by one, and
 *          each then gets its own error or answer.
 */
import { performance } from 'node:perf_hooks'
import type { BlobRef } from '../../core/blob.ts'
import { RuntimeError, TransientError } from '../../core/errors.ts'
import { digestAsked, rootIdOf } from '../../core/ids.ts'
import {
  defaultSpending,
  defaultWorkerLimits,
  encodeAllowed,
  encodeLimits,
  type Policy,
  type SessionLimits,
} from '../../core/policy.ts'
import type { Wakeup } from '../../core/ports/wake.ts'
import { type PartitionKeys, rootKey } from '../keys.ts'
import type { Redis } from '../redis/redis.ts'
import { Batcher, batchesOf, bytesOf } from '../script/batcher.ts'
import type { HeaderValue, ScriptCaller } from '../script/script.ts'
import { createSessionsScript, prepareForkScript } from '../script/scripts.ts'
import { type SentBlob, withSentBlobs } from '../sent-blob.ts'
import { newSeed, parseWakeups } from '../wakeups.ts'
import { unansweredCreate } from './unanswered.ts'

export interface SessionOrder {
  readonly sessionId: string
  readonly kind: string
  readonly name: string
  readonly pool: string
  readonly mode: 'job' | 'conversation'
  /** The first message of the session. Null: it rests until a message is sent to it. */
  readonly mail: string | null
  /** What its history begins with; absent: nothing. */
  readonly history?: readonly string[] | undefined
  /** What its first message names: bytes, and the name that follows from them. */
  readonly blobs?: readonly { readonly ref: BlobRef; readonly body: Uint8Array }[] | undefined
  /** Digest of the caller's key. Null without one: then the ids of the session tell a repeated call. */
  readonly keyDigest: string | null
  /** How many partitions the caller knows; set if the caller gave a key. */
  readonly partitions?: number | undefined
  readonly limits: SessionLimits
  /** As `encodePermissions` writes it; empty or absent: nothing is restricted. */
  readonly permissions?: string | undefined
  /** As `encodeConfiguration` writes it; empty or absent: as the kind says. */
  readonly configured?: string | undefined
  /** As `encodeApproval` writes it; empty or absent: the default. */
  readonly approval?: string | undefined
  /** As `encodeTurnShare` writes it; absent: the default. */
  readonly turnShare?: string | undefined
  /** As `encodeNotify` writes it; absent: its result goes nowhere. */
  readonly notify?: string | undefined
  /** As `encodeBranch` writes it; absent: it is no branch. */
  readonly branchOf?: string | undefined
  readonly event: string
}

/** again: the session existed, or the same key created it before. other: the key created another session, and the answer names that one. */
export interface CreateAnswer {
  readonly kind: 'ok' | 'again' | 'other'
  readonly sessionId: string
  readonly workerId: string
  readonly wakeups: readonly Wakeup[]
}

type Answer = CreateAnswer | TransientError
type Settled = PromiseSettledResult<CreateAnswer>

interface Prepared {
  readonly sessionId: string
  /** The session's part of the header. */
  readonly fields: Readonly<Record<string, HeaderValue | undefined>>
  /** The mail, the event, then the history entries, then the facts of the blobs. */
  readonly texts: readonly string[]
  /** Blobs of the session; their bytes are sent before the script. */
  readonly blobs: readonly SentBlob[]
  /** Entries of its history that are sent before the script, because they are many or long. */
  readonly sent: readonly string[]
  /** Set for an order with a key. */
  readonly partitions: number | undefined
  readonly bytes: number
}

/** Somebody waits for the answer of this one. */
interface Waiting {
  readonly prepared: Prepared
  readonly bytes: number
  readonly answer: PromiseWithResolvers<CreateAnswer>
}

const startLimits = encodeLimits(defaultWorkerLimits)
const startCaps = encodeAllowed(defaultSpending)
/** About how many bytes the fields of one session take in the header: their names, ids and digests. */
const fieldsBytes = 300

export class CreateSessions {
  readonly #redis: Redis
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #policy: Policy
  readonly #deadlineMs: number
  readonly #waiting = new Batcher<Waiting>(
    (batch) => void this.#answer(batch),
    (leave) => setImmediate(leave),
  )

  constructor(redis: Redis, caller: ScriptCaller, keys: PartitionKeys, policy: Policy, deadlineMs: number) {
    this.#redis = redis
    this.#caller = caller
    this.#keys = keys
    this.#policy = policy
    this.#deadlineMs = deadlineMs
  }

  async create(order: SessionOrder): Promise<CreateAnswer> {
    const prepared = this.#prepare(order)
    // Nobody waits for the bytes of another.
    if (sendsBefore(prepared)) return this.#sendOne(prepared, performance.now())
    const answer = Promise.withResolvers<CreateAnswer>()
    this.#waiting.add({ prepared, bytes: prepared.bytes, answer })
    return answer.promise
  }

  /** Resolves, in the order of `orders`, with the answer for each session or with the error that it met. */
  async createMany(orders: readonly SessionOrder[]): Promise<Settled[]> {
    const batches = [...batchesOf(orders.map((order) => this.#prepare(order)))]
    const answers = await Promise.all(batches.map((batch) => this.#sendBatch(batch)))
    return answers.flat()
  }

  async #answer(batch: readonly Waiting[]): Promise<void> {
    const settled = await this.#sendBatch(batch.map(({ prepared }) => prepared))
    for (const [index, { answer }] of batch.entries()) {
      const one = settled[index] as Settled
      if (one.status === 'fulfilled') answer.resolve(one.value)
      else answer.reject(one.reason)
    }
  }

  async #sendBatch(batch: readonly Prepared[]): Promise<Settled[]> {
    const since = performance.now()
    try {
      const answers = await this.#send(batch, since)
      return answers.map(settledOf)
    } catch (reason) {
      // After the deadline, no session is sent again. Otherwise one of them met something damaged, and each is sent by itself (CREATE-1).
      const isFinal = batch.length === 1 || (reason instanceof RuntimeError && reason.retryable)
      if (isFinal) return batch.map((one) => ({ status: 'rejected', reason: lateReason(reason, one) }))
      return Promise.allSettled(batch.map((one) => this.#sendOne(one, since)))
    }
  }

  async #sendOne(one: Prepared, since: number): Promise<CreateAnswer> {
    const sent = this.#send([one], since).catch((reason: unknown) => {
      throw lateReason(reason, one)
    })
    const [answer] = (await sent) as [Answer]
    if (answer instanceof Error) throw answer
    return answer
  }

  async #send(batch: readonly Prepared[], since: number): Promise<Answer[]> {
    if (!batch.some(sendsBefore)) return this.#call(batch, since).then(whole)
    const [one] = batch
    if (one === undefined || batch.length > 1)
      return Promise.all(batch.map(async (each) => this.#send([each], since))).then((all) => all.flat())
    const call = async () => {
      await this.#sendHistory(one, since)
      const answers = await this.#call(batch, since)
      return answers.includes(null) ? null : whole(answers)
    }
    return withSentBlobs(this.#redis, this.#keys, one.blobs, this.#deadlineMs, call, since)
  }

  /**
   * Writes entries in pieces, into the history that its session is to have. A piece that is there already, or in front of which entries are missing, is
   * not written: whether all are there is seen when the session is created.
   */
  async #sendHistory({ sessionId, sent }: Prepared, since: number): Promise<void> {
    const keys = { root: rootKey(this.#keys.tag, sessionId) }
    const key = `w:${rootIdOf(sessionId)}:log`
    const { forkKeptMs: keptMs } = this.#policy
    let from = 0
    for (const texts of piecesOf(sent)) {
      const parts = [{ key, sort: 'list', from, texts: texts.length }]
      await this.#caller.call(
        prepareForkScript,
        keys,
        { keptMs, parts, texts },
        { deadlineMs: this.#deadlineMs, since },
      )
      from += texts.length
    }
  }

  /** Null: bytes of its blobs, or entries of its history, are not there. */
  async #call(batch: readonly Prepared[], since: number): Promise<(Answer | null)[]> {
    const { sessions, ends, events } = this.#keys
    const args = {
      wakeupMs: this.#policy.wakeupMs,
      seed: newSeed(),
      partitions: leastKnown(batch),
      sessions: batch.map(({ fields }) => fields),
      texts: batch.flatMap(({ texts }) => texts),
    }
    const time = { deadlineMs: this.#deadlineMs, since }
    const replies = await this.#caller.call(createSessionsScript, { sessions, ends, events }, args, time)
    return (replies as [CreateAnswer['kind'] | 'behind' | 'unsent', string, string][]).map(
      ([kind, sessionId, wakeups]) => {
        if (kind === 'unsent') return null
        if (kind === 'behind') return behind(sessionId)
        return { kind, sessionId, workerId: rootIdOf(sessionId), wakeups: parseWakeups(wakeups) }
      },
    )
  }

  /** Fields with the default of a new session are left out. */
  #prepare(order: SessionOrder): Prepared {
    const { sessionId, kind, name, pool, mode, limits, permissions, approval, turnShare, notify, keyDigest, event } =
      order
    const { blobs = [], configured } = order
    const given = order.history ?? []
    const [history, sent] = isLong(given) ? [[], given] : [given, []]
    const mail = order.mail ?? ''
    const limitsText = encodeLimits(limits)
    const caps = encodeAllowed(limits)
    const fields: Record<string, HeaderValue | undefined> = {
      session: sessionId,
      kind,
      pool,
      name: name === kind ? undefined : name,
      mode: mode === 'job' ? undefined : mode,
      limits: limitsText === startLimits ? undefined : limitsText,
      permissions: permissions || undefined,
      configured: configured || undefined,
      caps: caps === startCaps ? undefined : caps,
      approval: approval || undefined,
      turnShare,
      notify,
      branchOf: order.branchOf,
      entries: history.length || undefined,
      sent: sent.length || undefined,
      blobs: blobs.length || undefined,
      rests: order.mail === null || undefined,
    }
    if (keyDigest !== null) {
      fields.key = keyDigest
      fields.asked = digestAsked(
        JSON.stringify([
          kind,
          name,
          mode,
          limitsText,
          permissions,
          mail,
          askedCaps(limits),
          ...(approval ? [approval] : []),
          ...(turnShare ? [turnShare] : []),
          ...(notify ? [notify] : []),
          ...given,
        ]),
      )
      fields.keyMs = this.#policy.givenKeyMs
    }
    const texts = [mail, event, ...history]
    const kept = blobs.flatMap(({ ref }) => [ref.id, ref.mediaType, String(ref.bytes)])
    const bytes = fieldsBytes + (permissions?.length ?? 0) + bytesOf(texts)
    const partitions = keyDigest === null ? undefined : order.partitions
    const bodies = blobs.map((blob) => ({ sessionId, ...blob }))
    return { sessionId, fields, texts: [...texts, ...kept], blobs: bodies, sent, partitions, bytes }
  }
}

/** How many entries one script writes, and about how many bytes of them; one entry may have more. */
const pieceMost = 200
const pieceBytes = 131_072

function isLong(history: readonly string[]): boolean {
  return history.length > pieceMost || bytesOf(history) > pieceBytes
}

function* piecesOf(entries: readonly string[]): Generator<readonly string[]> {
  for (let from = 0, to = 1, bytes = 0; from < entries.length; to++) {
    bytes += entries[to - 1]?.length ?? 0
    if (to < entries.length && to - from < pieceMost && bytes < pieceBytes) continue
    yield entries.slice(from, to)
    from = to
    bytes = 0
  }
}

function lateReason(reason: unknown, { sessionId, fields }: Prepared): unknown {
  return unansweredCreate(reason, sessionId, fields.key !== undefined)
}

function sendsBefore({ blobs, sent }: Prepared): boolean {
  return blobs.length + sent.length > 0
}

/** A session without blobs is never answered that they are not there. */
function whole(answers: readonly (Answer | null)[]): Answer[] {
  return answers.filter((answer) => answer !== null)
}

/** If this process learned of more partitions between two orders of a batch, the smaller number: then all are refused, and made again (RAISE-2). */
function leastKnown(batch: readonly Prepared[]): number | undefined {
  const known = batch.flatMap(({ partitions }) => partitions ?? [])
  return known.length === 0 ? undefined : Math.min(...known)
}

function settledOf(answer: Answer): Settled {
  if (answer instanceof Error) return { status: 'rejected', reason: answer }
  return { status: 'fulfilled', value: answer }
}

/** Another process that knows the number of partitions may take the order (RAISE-2). */
function behind(partitions: string): TransientError {
  return new TransientError(
    `the namespace was raised to ${partitions} partitions, of which this process has not learned yet: it looks every few seconds. If this lasts, the raise was not finished: run \`troupe partition raise ${partitions}\` again. Nothing was written.`,
    { code: 'store_refused', details: { partitions: Number(partitions) } },
  )
}

/** How many partitions there are, if whoever asked was refused because it knows another number. */
export function partitionsIn(error: unknown): number | undefined {
  return error instanceof TransientError ? (error.details.partitions as number | undefined) : undefined
}

/** A limit that a later version added is left out at its default, so that a call of an older version has the same digest today. */
function askedCaps(limits: SessionLimits): string {
  const { modelCalls, tokens, toolCalls } = limits
  return toolCalls === defaultSpending.toolCalls ? `${modelCalls} ${tokens}` : encodeAllowed(limits)
}
