/**
 * Duty: what the turns of one node ask of one partition: claims, commits, renewals, gates, and what they read of histories, mailboxes and cancels.
 * Owns: the arguments and answers of these scripts but commit (commit-args.ts), and which commits leave together: those of one pass of the event loop go
 * in one script (bench/history.md). Does not own: what a turn decides, or when.
 * CLAIM-1 A claim or commit that is sent again gives the same assignment: the nonce is kept by the caller across its own re-sends.
 * CLAIM-2 `trustedUntil` is counted from before the call was sent, so the node stops trusting its lease before Redis does.
 * INPUT-READ-1 An input is read whole and as the one at its position, although commits of the same turn take inputs out of the mailbox at that moment.
 * BATCH-1 Each commit is answered as if it had been sent alone: one that meets an error is sent again by itself, and then its caller gets the error.
 */

import { performance } from 'node:perf_hooks'
import { RuntimeError } from '../../core/errors.ts'
import { idLength, partitionOf } from '../../core/ids.ts'
import type { Policy } from '../../core/policy.ts'
import type {
  Assignment,
  ClaimAnswer,
  CommitAnswer,
  CommitRequest,
  NextClaim,
  RenewedSteers,
  RenewRequest,
  TurnStore,
  Verdict,
} from '../../core/ports/ports.ts'
import type { Wakeup } from '../../core/ports/wake.ts'
import type { EnterAnswer, GateOrder } from '../../core/worker/gates.ts'
import { decodeMail, type Mail } from '../../core/worker/message/message.ts'
import { decodeSteered, type Steer } from '../../core/worker/message/steer.ts'
import { readEntries } from '../history/read-entries.ts'
import { gatesKey, type PartitionKeys, rootKey, sessionKeys, workerKeys } from '../keys.ts'
import { decodeClaim } from '../record/assignment.ts'
import { takenField } from '../record/worker-record.ts'
import { guarded } from '../redis/guarded.ts'
import type { Redis } from '../redis/redis.ts'
import { Batcher, bytesOf } from '../script/batcher.ts'
import type { Reply, ScriptCaller } from '../script/script.ts'
import { claimScript, commitScript, enterScript, renewScript } from '../script/scripts.ts'
import { newSeed, parseWakeups } from '../wakeups.ts'
import { type CommitArgs, claimFields, commitArgs, decodeCommit } from './commit-args.ts'
import type { GuestStore } from './guest-store.ts'
import { KindLists, type NodeKinds } from './kind-lists.ts'

export interface TurnStoreOptions extends NodeKinds {
  readonly redis: Redis
  readonly caller: ScriptCaller
  readonly keys: PartitionKeys
  readonly partition: number
  readonly nodeId: string
  readonly policy: Policy
  /** Called when a recorded commit has sent a message to a worker of another partition. */
  readonly onSentOut?: () => void
  /** Brings runs to their gates, where these are in another partition. Absent: in none but the first. */
  readonly guests?: GuestStore
}

/** A commit that waits until this pass of the event loop ends. */
interface Waiting extends CommitArgs {
  readonly bytes: number
  /** The pool in which its slot claims or takes children; null: it does neither. */
  readonly claimsIn: string | null
  readonly answer: PromiseWithResolvers<CommitAnswer>
}

/** The position of the first text among the arguments of a script, counted from 1: behind the header. */
const firstText = 2
/** About how many bytes the fields of a commit take in the header. */
const fieldsBytes = 400
/** What the parts of a commit cost Redis beside their texts, in bytes of text. So commits with many parts share no script. */
function partBytes({ spawns, sends, asks, withdraws, timers }: CommitRequest): number {
  return 400 * spawns.length + 1_000 * sends.length + 500 * (asks.length + withdraws.length) + 250 * timers.length
}

const historyPage = 1_000

export class RedisTurnStore implements TurnStore {
  readonly partition: number
  readonly #o: TurnStoreOptions
  readonly #kinds: KindLists
  readonly #commits = new Batcher<Waiting>(
    (batch) => void this.#send(batch),
    (leave) => setImmediate(leave),
  )

  constructor(options: TurnStoreOptions) {
    this.#o = options
    this.partition = options.partition
    this.#kinds = new KindLists(options)
  }

  async claim(next: NextClaim): Promise<ClaimAnswer> {
    // Commits that still wait here are about the same turns.
    this.#commits.flush()
    const asked = performance.now()
    const { keys, nodeId, policy } = this.#o
    const reply = await this.#o.caller.call(
      claimScript,
      {
        run: keys.run(next.pool),
        leases: keys.leases,
        claims: keys.claims(nodeId),
        wakeups: keys.wakeups(next.pool),
        busy: keys.busy(next.pool),
      },
      {
        pool: next.pool,
        ...claimFields(next, next.wakeup, next.wasBusy),
        wakeupMs: policy.wakeupMs,
        node: this.#nodeFields([next.pool]),
      },
      { deadlineMs: policy.leaseMs },
    )
    return decodeClaim(reply, asked + policy.leaseMs - policy.leaseMarginMs)
  }

  commit(request: CommitRequest): Promise<CommitAnswer> {
    const { fields, texts } = commitArgs(request, this.#o.policy)
    const bytes = bytesOf(texts) + fieldsBytes + partBytes(request)
    const answer = Promise.withResolvers<CommitAnswer>()
    const claimsIn = fields.claim || fields.inline ? request.pool : null
    this.#commits.add({ fields, texts, bytes, claimsIn, answer })
    if (this.#o.onSentOut && request.sends.some(({ workerId }) => partitionOf(workerId) !== this.partition))
      answer.promise.then(this.#o.onSentOut, () => {})
    return answer.promise
  }

  /** What claims of this node in these pools have in common. */
  #nodeFields(pools: Iterable<string>) {
    const { nodeId, policy } = this.#o
    return {
      id: nodeId,
      leaseMs: policy.leaseMs,
      mailBytes: policy.claimMailBytes,
      suspectAfter: policy.suspectAfterStarts,
      poisonAfter: policy.poisonAfterIsolatedStarts,
      kinds: Array.from(pools, (pool) => ({ pool, list: this.#kinds.of(pool) })),
    }
  }

  /** `asked`: when these commits were sent for the first time. */
  async #send(batch: readonly Waiting[], asked = performance.now()): Promise<void> {
    const { leaseMs, leaseMarginMs, wakeupMs } = this.#o.policy
    const { leases, events } = this.#o.keys
    let from = firstText
    for (const { fields, texts } of batch) {
      fields.texts = from
      from += texts.length
    }
    const commits = batch.map(({ fields }) => fields)
    const pools = new Set(batch.flatMap(({ claimsIn }) => claimsIn ?? []))
    const node = pools.size > 0 ? this.#nodeFields(pools) : undefined
    const args = { wakeupMs, seed: newSeed(), node, commits, texts: batch.flatMap(({ texts }) => texts) }
    let replies: Reply
    try {
      replies = await this.#o.caller.call(commitScript, { leases, events }, args, { deadlineMs: leaseMs, since: asked })
    } catch (error) {
      // After the deadline, no commit is sent again. Otherwise one of them met something damaged, and each is sent by itself (BATCH-1).
      const isFinal = batch.length === 1 || (error instanceof RuntimeError && error.retryable)
      for (const waiting of batch) {
        if (isFinal) waiting.answer.reject(error)
        else void this.#send([waiting], asked)
      }
      return
    }
    for (const [index, waiting] of batch.entries()) {
      const reply = replies[index] as Reply
      if (reply[0] === 'failed') void this.#send([waiting], asked)
      else answerWith(waiting, () => decodeCommit(reply, asked + leaseMs - leaseMarginMs))
    }
  }

  async enter(assignment: Parameters<TurnStore['enter']>[0], gates: readonly GateOrder[]): Promise<EnterAnswer> {
    const { keys, policy, guests } = this.#o
    const { workerId, token } = assignment
    const at = gates.map(({ key, ...gate }) => ({ ...gate, key: key ?? undefined }))
    const guest = this.partition > 0 ? await guests?.ask(assignment, at) : undefined
    if (guest === 'never') return { kind: 'never' }
    const [tag, opensIn] = (await this.#o.caller.call(
      enterScript,
      { record: workerKeys(keys.tag, workerId).record, leases: keys.leases, gates: gatesKey(keys.tag) },
      { worker: workerId, token, at, guest },
      { deadlineMs: policy.leaseMs / 3 },
    )) as [EnterAnswer['kind'], string?]
    if (tag !== 'waits') return { kind: tag }
    return { kind: tag, opensInMs: opensIn === 'none' ? null : Number(opensIn) }
  }

  /** It reads in pages: a long history must not hold Redis for long, nor come as one answer. */
  async readHistory(workerId: string, from: number): Promise<string[]> {
    const { redis, keys, policy } = this.#o
    const { log } = workerKeys(keys.tag, workerId)
    const entries: string[] = []
    for (let start = from; ; start += historyPage) {
      const read = () => readEntries(redis, log, start, from < 0 ? -1 : start + historyPage - 1)
      const page = await guarded('reading a history', read, policy.leaseMs)
      for (const entry of page) entries.push(entry)
      if (from < 0 || page.length < historyPage) return entries
    }
  }

  /** Only this turn takes inputs out of the lane, so their positions hold between the two reads. */
  async readInputs(workerId: string, positions: readonly number[]): Promise<Mail[]> {
    const { redis, keys, policy } = this.#o
    const { record, inbox } = workerKeys(keys.tag, workerId)
    const read = <Value>(reading: () => Promise<Value>) => guarded('reading a mailbox', reading, policy.leaseMs)
    const readTaken = async () => Number((await read(() => redis.hget(record, takenField.inbox))) ?? 0)
    for (let taken = await readTaken(); ; ) {
      const from = taken
      const texts = await Promise.all(positions.map((position) => read(() => redis.lindex(inbox, position - from))))
      taken = await readTaken()
      // INPUT-READ-1: what was read stands at other positions if a commit took inputs in between.
      if (taken !== from) continue
      return positions.flatMap((position, index) => {
        const text = texts[index]
        return position < taken || !text ? [] : [decodeMail('inbox', position, text)]
      })
    }
  }

  /** Redis keeps a reason for what callers cancelled. Nobody gives one for the children of a run that has ended. */
  async cancelReason({
    workerId,
    sessionId,
    depth,
    run,
  }: Pick<Assignment, 'workerId' | 'sessionId' | 'depth' | 'run'>): Promise<string> {
    const { redis, keys, policy } = this.#o
    const read = <Value>(reading: () => Promise<Value>) => guarded('reading a reason', reading, policy.leaseMs)
    const ofSession = await read(() => redis.hget(rootKey(keys.tag, sessionId), 'cancel'))
    if (ofSession !== null) return JSON.parse(ofSession) as string
    const levels = Array.from({ length: depth }, (_, level) => `path${level + 1}`)
    const { record } = workerKeys(keys.tag, workerId)
    const path = depth === 0 ? [] : await read(() => redis.hmget(record, ...levels))
    const nearestFirst = [`${workerId}:${run}`, ...path.filter((element) => element !== null).toReversed()]
    const names = nearestFirst.flatMap((element) => [`${element.slice(0, idLength)}:*`, element])
    const reasons = await read(() => redis.hmget(sessionKeys(keys.tag, sessionId).reasons, ...names))
    return reasons.find((reason) => reason !== null) ?? 'the run that waited for it has ended'
  }

  async renew(
    turns: readonly RenewRequest[],
  ): Promise<{ verdicts: Verdict[]; steered: RenewedSteers; wakeups: readonly Wakeup[]; trustedUntil: number }> {
    // Commits that still wait here are about the same turns.
    this.#commits.flush()
    const asked = performance.now()
    const { keys, policy } = this.#o
    const reply = await this.#o.caller.call(
      renewScript,
      { leases: keys.leases, events: keys.events },
      {
        leaseMs: policy.leaseMs,
        wakeupMs: policy.wakeupMs,
        seed: newSeed(),
        turns: turns.map(({ workerId, token, wakeup, becomesBusy, isQuiet, runState }) => ({
          worker: workerId,
          token,
          wakeup: wakeup || undefined,
          becomesBusy: becomesBusy || undefined,
          quiet: isQuiet || undefined,
          runState: runState || undefined,
        })),
      },
      { deadlineMs: policy.leaseMs / 3 },
    )
    const [wakeups, ...answers] = reply as string[]
    const verdicts: Verdict[] = []
    const steered = new Map<number, readonly Steer[]>()
    for (const [index, answer] of answers.entries()) {
      const [verdict] = answer.split(' ', 1) as [Verdict]
      verdicts.push(verdict)
      if (answer.length > verdict.length) steered.set(index, decodeSteered(answer.slice(verdict.length + 1)))
    }
    return {
      verdicts,
      steered,
      wakeups: parseWakeups(wakeups),
      trustedUntil: asked + policy.leaseMs - policy.leaseMarginMs,
    }
  }
}

function answerWith({ answer }: Waiting, read: () => CommitAnswer): void {
  try {
    answer.resolve(read())
  } catch (error) {
    answer.reject(error)
  }
}
