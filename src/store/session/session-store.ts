/**
 * Duty: what programs ask of the store from outside a turn: create, send, answer, cancel, close, prune. One instance per partition.
 * Expected refusals are values; the client turns them into errors that name the id.
 */
import { InvariantError } from '../../core/errors.ts'
import { encodeEvents } from '../../core/event/event-notes.ts'
import { defaultPool, digestAsked, newId, rootIdOf, unhostedPool } from '../../core/ids.ts'
import { decodeSpending, defaultSpending, encodeAllowed, type Policy, type Spending } from '../../core/policy.ts'
import type { Wakeup } from '../../core/ports/wake.ts'
import {
  type ApprovalPolicy,
  decodeApproval,
  defaultApproval,
  encodeApproval,
  type SessionApproval,
} from '../../core/worker/ask/session-approval.ts'
import type { SendTime } from '../../core/worker/message/steer.ts'
import { ForkStore } from '../fork/fork-store.ts'
import { askKey, type PartitionKeys, rootKey, sessionKeys, workerKeys } from '../keys.ts'
import { AmendStore } from '../person/amend-store.ts'
import { type CancelAnswer, type Canceller, Cancels, type CancelWorkerAnswer } from '../person/cancels.ts'
import { PauseStore } from '../person/pause-store.ts'
import { poolOfKindLine } from '../record/register-line.ts'
import { sessionOfPath } from '../record/worker-record.ts'
import { guarded } from '../redis/guarded.ts'
import { isLost, type Redis } from '../redis/redis.ts'
import type { Reply, ScriptCaller } from '../script/script.ts'
import {
  answerScript,
  approvalScript,
  closeScript,
  dismissScript,
  limitScript,
  postScript,
  redriveScript,
  retryScript,
} from '../script/scripts.ts'
import { pruneOnce, pruneStart } from '../upkeep-store.ts'
import { newSeed, parseWakeups } from '../wakeups.ts'
import { type CreateAnswer, CreateSessions, type SessionOrder } from './create-sessions.ts'
import { decodePost, type Placed, type PostAnswer, type PostRefused } from './post-answer.ts'
import { unansweredSend } from './unanswered.ts'

/** For a message: the digest of its key, and whether the caller gave the key, who may use it for another message as well. */
interface PostOptions {
  readonly digest: string
  readonly isGiven: boolean
  readonly when?: SendTime
}

export type RedriveAnswer = Placed | RedriveRefused
export type RedriveRefused = { readonly kind: 'no_letter' | 'no_message' } | PostRefused

/** redriven: the message was put back, at this position. */
export type DismissAnswer =
  | { readonly kind: 'ok' | 'again' | 'no_letter' }
  | { readonly kind: 'redriven'; readonly position: number }

/** How a failed run goes on, and what the caller had read when they decided so: the version of the record, and how long the history was. */
export interface RetryOrder {
  readonly version: number
  readonly run: number
  readonly runState: string
  readonly calls: number
  readonly steps: number
  readonly entries: readonly string[]
  /** The message that the run receives again; empty: none. */
  readonly mail: string
  /** What all agents of the session may use together; a limit that it leaves out stays as it is. */
  readonly limits?: Partial<Spending> | undefined
  readonly letter?: string | undefined
  readonly event: string
}

export type RetryAnswer =
  | { readonly kind: 'ok'; readonly wakeups: readonly Wakeup[] }
  | { readonly kind: 'not_found' | 'moved' | 'ending' | 'no_letter' }
  | { readonly kind: 'not_failed'; readonly state: string }

export interface AnswerOrder {
  readonly answerJson: string
  readonly by: string | null
  readonly keyDigest: string
  readonly event: string
}

export type AnswerAnswer =
  | { readonly kind: 'ok' | 'again'; readonly wakeups: readonly Wakeup[] }
  | { readonly kind: 'answered'; readonly at: number; readonly by: string }
  | { readonly kind: 'expired' | 'withdrawn'; readonly at: number }
  | { readonly kind: 'other' | 'not_found' }

export class SessionStore {
  readonly partition: number
  readonly pauses: PauseStore
  readonly forks: ForkStore
  readonly amendments: AmendStore
  readonly #caller: ScriptCaller
  readonly #redis: Redis
  readonly #keys: PartitionKeys
  readonly #policy: Policy
  readonly #deadlineMs: number
  readonly #creation: CreateSessions
  readonly #cancels: Cancels
  readonly #pools = new Map<string, { pool: string; until: number }>()

  constructor(
    redis: Redis,
    caller: ScriptCaller,
    keys: PartitionKeys,
    partition: number,
    policy: Policy,
    deadlineMs: number,
  ) {
    this.#redis = redis
    this.#caller = caller
    this.#keys = keys
    this.partition = partition
    this.#policy = policy
    this.#deadlineMs = deadlineMs
    this.forks = new ForkStore(redis, caller, keys, policy, deadlineMs)
    this.pauses = new PauseStore(caller, keys, policy, deadlineMs)
    this.amendments = new AmendStore(redis, caller, keys, policy, deadlineMs)
    this.#creation = new CreateSessions(redis, caller, keys, policy, deadlineMs)
    this.#cancels = new Cancels(caller, keys, policy, deadlineMs)
  }

  /** Was the connection to its Redis lost, and is not back? */
  get isAway(): boolean {
    return isLost(this.#redis)
  }

  create(order: SessionOrder): Promise<CreateAnswer> {
    return this.#creation.create(order)
  }

  /** Each session is answered as if it had been created alone. */
  createMany(orders: readonly SessionOrder[]): Promise<PromiseSettledResult<CreateAnswer>[]> {
    return this.#creation.createMany(orders)
  }

  /** Whether a key of a caller led to a session here, and is still known. */
  async knowsKey(digest: string): Promise<boolean> {
    const read = () => this.#redis.exists(this.#keys.idem(digest))
    return (await guarded('looking for an idempotency key', read, this.#deadlineMs)) === 1
  }

  async post(
    workerId: string,
    mail: string,
    { digest, isGiven, when }: PostOptions,
    event: string,
  ): Promise<PostAnswer> {
    const worker = workerKeys(this.#keys.tag, workerId)
    const posted = this.#caller.call(
      postScript,
      {
        record: worker.record,
        inbox: worker.inbox,
        run: this.#keys.run(defaultPool),
        events: this.#keys.events,
        idem: this.#keys.idem(digest),
      },
      {
        worker: workerId,
        mail,
        idemMs: isGiven ? this.#policy.givenKeyMs : this.#policy.madeKeyMs,
        seed: newSeed(),
        wakeupMs: this.#policy.wakeupMs,
        event,
        asked: isGiven ? digestAsked(mail) : undefined,
        when: when === 'queue' ? undefined : when,
      },
      { deadlineMs: this.#deadlineMs },
    )
    const reply = await posted.catch((error: unknown) => {
      throw unansweredSend(error, workerId, isGiven)
    })
    return decodePost(reply, 'post')
  }

  /** Puts a dead letter's message back; it stays where it is, as evidence. */
  async redrive(workerId: string, letter: string, event: string): Promise<RedriveAnswer> {
    const worker = workerKeys(this.#keys.tag, workerId)
    const { dead, redriven, events } = this.#keys
    const reply = await this.#caller.call(
      redriveScript,
      { record: worker.record, inbox: worker.inbox, dead, redriven, run: this.#keys.run(defaultPool), events },
      { worker: workerId, letter, seed: newSeed(), wakeupMs: this.#policy.wakeupMs, event },
      { deadlineMs: this.#deadlineMs },
    )
    if (reply[0] === 'no_letter' || reply[0] === 'no_message') return { kind: reply[0] }
    return decodePost(reply, 'redrive')
  }

  /** Marks a dead letter as dealt with; it stays where it is, as evidence. */
  async dismiss(workerId: string, letter: string): Promise<DismissAnswer> {
    const { dead, redriven } = this.#keys
    const [kind, position] = await this.#caller.call(
      dismissScript,
      { dead, redriven },
      { worker: workerId, letter },
      { deadlineMs: this.#deadlineMs },
    )
    if (kind === 'redriven') return { kind, position: Number(position) }
    return { kind: kind as 'ok' | 'again' | 'no_letter' }
  }

  async answer(id: string, { answerJson, by, keyDigest, event }: AnswerOrder): Promise<AnswerAnswer> {
    const reply = await this.#caller.call(
      answerScript,
      { record: askKey(this.#keys.tag, id), events: this.#keys.events },
      {
        ask: id,
        key: keyDigest,
        asked: digestAsked(answerJson),
        by: by ?? undefined,
        seed: newSeed(),
        wakeupMs: this.#policy.wakeupMs,
        answer: answerJson,
        event,
      },
      { deadlineMs: this.#deadlineMs },
    )
    const [kind, first, second] = reply as [string, string | undefined, string | undefined]
    switch (kind) {
      case 'ok':
      case 'again':
        return { kind, wakeups: parseWakeups(first ?? '') }
      case 'answered':
        return { kind, at: Number(first), by: second ?? '' }
      case 'expired':
      case 'withdrawn':
        return { kind, at: Number(first) }
      case 'other':
      case 'not_found':
        return { kind }
      default:
        throw new InvariantError(`answer answered ${JSON.stringify(kind)}`)
    }
  }

  cancel(sessionId: string, reason: string, by?: Canceller): Promise<CancelAnswer> {
    return this.#cancels.session(sessionId, reason, by)
  }

  /** worker: the worker is cancelled for good, with its subtree; a root is cancelled with its session. run: only the run that is in progress. */
  cancelWorker(...call: Parameters<Cancels['worker']>): Promise<CancelWorkerAnswer> {
    return this.#cancels.worker(...call)
  }

  /** Sets the limits named in the options; returns the limits that hold now. */
  async limit(
    sessionId: string,
    { modelCalls, tokens, toolCalls }: Partial<Spending>,
    event: string,
    digest: string = newId(0),
  ): Promise<{ kind: 'ok'; caps: Spending } | { kind: 'not_found' } | { kind: 'finished'; state: string }> {
    const { events, idem, tag } = this.#keys
    const keys = { root: rootKey(tag, sessionId), events, idem: idem(digest) }
    const start = encodeAllowed(defaultSpending)
    const order = { sessionId, modelCalls, tokens, toolCalls, start, idemMs: this.#policy.madeKeyMs, event }
    let reply: Reply
    let from: number | undefined
    do {
      reply = await this.#caller.call(limitScript, keys, { ...order, from }, { deadlineMs: this.#deadlineMs })
      from = Number(reply[1])
    } while (reply[0] === 'more')
    if (reply[0] === 'not_found') return { kind: 'not_found' }
    if (reply[0] === 'finished') return { kind: 'finished', state: String(reply[1]) }
    return { kind: 'ok', caps: decodeSpending(String(reply[1])) }
  }

  /** Sets the policy, which takes all trust back, or trusts a tool; answers what holds now. `digest`: names a change that is made once within a day. */
  async setApproval(
    sessionId: string,
    change: { readonly policy: ApprovalPolicy } | { readonly tool: string },
    event: string,
    digest?: string,
  ): Promise<{ kind: 'ok'; approval: SessionApproval } | { kind: 'not_found' }> {
    const { events, idem, tag } = this.#keys
    const idemMs = digest === undefined ? this.#policy.madeKeyMs : this.#policy.givenKeyMs
    const { policy = '', tool = '' } = change as { readonly policy?: string; readonly tool?: string }
    const reply = await this.#caller.call(
      approvalScript,
      { root: rootKey(tag, sessionId), events, idem: idem(digest ?? newId(0)) },
      { sessionId, policy, tool, start: encodeApproval(defaultApproval), idemMs, event },
      { deadlineMs: this.#deadlineMs },
    )
    if (reply[0] === 'not_found') return { kind: 'not_found' }
    return { kind: 'ok', approval: decodeApproval(String(reply[1])) ?? defaultApproval }
  }

  async retry(sessionId: string, order: RetryOrder): Promise<RetryAnswer> {
    const { dead, redriven, events, tag } = this.#keys
    const { record: root, log, signals, inbox, failure } = workerKeys(tag, rootIdOf(sessionId))
    const { runResults: results } = sessionKeys(tag, sessionId)
    const { version, run, runState, calls, steps, entries, mail, limits = {}, letter, event } = order
    const reply = await this.#caller.call(
      retryScript,
      { root, log, signals, inbox, failure, results, dead, redriven, run: this.#keys.run(defaultPool), events },
      {
        sessionId,
        version: String(version),
        run,
        runState,
        calls,
        steps: steps || undefined,
        entries: entries.length,
        modelCalls: limits.modelCalls,
        tokens: limits.tokens,
        toolCalls: limits.toolCalls,
        start: encodeAllowed(defaultSpending),
        letter,
        seed: newSeed(),
        wakeupMs: this.#policy.wakeupMs,
        event,
        mail,
        texts: entries,
      },
      { deadlineMs: this.#deadlineMs },
    )
    if (reply[0] === 'ok') return { kind: 'ok', wakeups: parseWakeups(reply[1]) }
    if (reply[0] === 'not_failed') return { kind: 'not_failed', state: String(reply[1]) }
    return { kind: reply[0] as 'not_found' | 'moved' | 'ending' | 'no_letter' }
  }

  async close(
    sessionId: string,
    { by }: Canceller = {},
  ): Promise<{ kind: 'ok'; state: string } | { kind: 'not_found' }> {
    const who = by === undefined ? {} : { by }
    const reply = await this.#caller.call(
      closeScript,
      { root: rootKey(this.#keys.tag, sessionId), events: this.#keys.events, ends: this.#keys.ends },
      {
        sessionId,
        note: JSON.stringify({ ...who, at: Date.now() }),
        event: encodeEvents([['session.closeRequested', who]]),
      },
      { deadlineMs: this.#deadlineMs },
    )
    return reply[0] === 'not_found' ? { kind: 'not_found' } : { kind: 'ok', state: String(reply[1]) }
  }

  /** Prunes all that finished longer ago than `retentionMs`; returns how many sessions went. */
  async prune(retentionMs: number): Promise<number> {
    let total = 0
    let cursor: typeof pruneStart | null = pruneStart
    while (cursor !== null) {
      const step: Awaited<ReturnType<typeof pruneOnce>> = await pruneOnce(
        this.#caller,
        this.#keys,
        this.#policy,
        retentionMs,
        cursor,
      )
      total += step.pruned
      cursor = step.cursor
    }
    return total
  }

  async sessionOf(workerId: string): Promise<string | null> {
    const { record } = workerKeys(this.#keys.tag, workerId)
    const read = () => this.#redis.hmget(record, 'status', 'path1')
    const [status, path1] = await guarded('reading a session', read, this.#deadlineMs)
    return status == null ? null : sessionOfPath(path1 ?? workerId)
  }

  async kindOf(workerId: string): Promise<string | null> {
    const { record } = workerKeys(this.#keys.tag, workerId)
    return guarded('reading a kind', () => this.#redis.hget(record, 'kind'), this.#deadlineMs)
  }

  /** The pool of a kind as its nodes registered it; "unhosted" for a kind that no node ever hosted. It is remembered for a second. */
  async poolOf(kind: string): Promise<string> {
    const known = this.#pools.get(kind)
    if (known && known.until > performance.now()) return known.pool
    const line = await guarded('reading kinds', () => this.#redis.hget(this.#keys.kinds, kind), this.#deadlineMs)
    const pool = line === null ? unhostedPool : poolOfKindLine(line)
    if (this.#pools.size > 1_000) this.#pools.clear()
    this.#pools.set(kind, { pool, until: performance.now() + this.#policy.sweepEveryMs })
    return pool
  }
}
