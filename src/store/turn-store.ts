/**
 * Duty: claim, commit and renew of one node in one partition.
 * Owns: the form of their arguments and answers. Does not own: what a turn decides, or when.
 * T-a A claim or commit that is sent again gives the same grant: the nonce is kept by the caller across its own re-sends.
 * T-b `trustedUntil` is counted from before the call was sent, so the node stops trusting its lease before Redis does.
 */

import { performance } from 'node:perf_hooks'
import { InvariantError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import type {
  Bell,
  ClaimAnswer,
  CommitAnswer,
  CommitRequest,
  NextClaim,
  Refusal,
  RenewRequest,
  TurnStore,
  Verdict,
} from '../core/ports.ts'
import { newSeed, parseBells } from './bells.ts'
import { encodeCalls } from './call-ranges.ts'
import { decodeGrant } from './grant.ts'
import { commitKeys, type PartitionKeys, workerKeys } from './keys.ts'
import type { Redis } from './redis.ts'
import { type Argument, guarded, type Reply, type ScriptCaller } from './script.ts'
import { claimScript, commitScript, renewScript } from './scripts.ts'
import { decodeSpendings } from './spending.ts'

export interface TurnStoreOptions {
  readonly redis: Redis
  readonly caller: ScriptCaller
  readonly keys: PartitionKeys
  readonly partition: number
  readonly nodeId: string
  /** Kinds this node hosts, by pool. */
  readonly kinds: ReadonlyMap<string, readonly string[]>
  /** Those of them that spawn nothing. */
  readonly childless?: ReadonlySet<string>
  readonly policy: Policy
}

const historyPage = 1_000

export class RedisTurnStore implements TurnStore {
  readonly partition: number
  readonly #o: TurnStoreOptions
  readonly #kindLists = new Map<string, string>()

  constructor(options: TurnStoreOptions) {
    this.#o = options
    this.partition = options.partition
    for (const [pool, kinds] of options.kinds) this.#kindLists.set(pool, kindList(kinds, options.childless))
  }

  async claim(next: NextClaim): Promise<ClaimAnswer> {
    const asked = performance.now()
    const { keys, nodeId, policy } = this.#o
    const reply = await this.#o.caller.call(
      claimScript,
      {
        run: keys.run(next.pool),
        leases: keys.leases,
        grants: keys.grants(nodeId),
        bells: keys.bells(next.pool),
        busy: keys.busy(next.pool),
      },
      {
        pool: next.pool,
        bell: next.bell,
        node: nodeId,
        slot: next.slot,
        nonce: next.nonce,
        kinds: this.#kindLists.get(next.pool) ?? ' ',
        maySuspect: next.maySuspect ? '1' : '0',
        wasBusy: next.wasBusy ? '1' : '0',
        keepBell: next.keepBell ? '1' : '0',
        leaseMs: policy.leaseMs,
        bellMs: policy.bellMs,
        mailBytes: policy.claimMailBytes,
        suspectAfter: policy.suspectAfterStarts,
        poisonAfter: policy.poisonAfterStartsAlone,
      },
      { deadlineMs: policy.leaseMs },
    )
    return this.#decodeClaim(reply, asked)
  }

  async commit(request: CommitRequest): Promise<CommitAnswer> {
    const asked = performance.now()
    const { caller, keys, policy } = this.#o
    const reply = await caller.call(commitScript, commitKeys(keys, request.workerId), this.#commitArguments(request), {
      deadlineMs: policy.leaseMs,
    })
    return this.#decodeCommit(reply, asked)
  }

  #commitArguments(request: CommitRequest) {
    return {
      token: request.token,
      sequence: request.sequence,
      version: request.version,
      runState: request.runState,
      open: request.open ? '1' : '0',
      userUsed: request.userUsed,
      wait: request.end?.wait ?? '',
      event: request.event,
      bellMs: this.#o.policy.bellMs,
      seed: newSeed(),
      entries: this.#listsOf(request),
    }
  }

  /** The entries, and what else is not as it is by default. */
  #listsOf(request: CommitRequest): Argument[] {
    const { nodeId, policy } = this.#o
    const { entries, end } = request
    const lists: Argument[] = [entries.length, ...entries]
    addFacts(lists, request, policy)
    const { spawns, sends, timers } = request
    for (const { id, kind, name, pool, detached, call, grant = '', mail } of spawns)
      lists.push('spawn', id, kind, name, pool, detached ? '1' : '0', call, grant, mail)
    for (const { workerId, mail } of sends) lists.push('send', workerId, mail)
    for (const { id, ms, valueJson } of timers) lists.push('timer', id, ms, valueJson)
    if (end === undefined) return lists
    const { next } = end
    if (request.wasBusy) lists.push('wasBusy', '1')
    if (next === null) {
      lists.push('leave', request.bell)
      return lists
    }
    if (next.keepBell) lists.push('keepBell', '1')
    if (!next.maySuspect) lists.push('noSuspect', '1')
    const kinds = this.#kindLists.get(request.pool) ?? ' '
    lists.push('claim', request.bell, next.nonce, next.slot, nodeId, kinds, policy.leaseMs)
    lists.push(policy.claimMailBytes, policy.suspectAfterStarts, policy.poisonAfterStartsAlone)
    return lists
  }

  /** In pages: a long history must not hold Redis for long, nor come as one answer. */
  async readHistory(workerId: string, from: number): Promise<string[]> {
    const { redis, keys, policy } = this.#o
    const { log } = workerKeys(keys.tag, workerId)
    const entries: string[] = []
    for (let start = from; ; start += historyPage) {
      const read = () => redis.lrange(log, start, start + historyPage - 1)
      const page = await guarded('reading a history', read, policy.leaseMs)
      for (const entry of page) entries.push(entry)
      if (page.length < historyPage) return entries
    }
  }

  async renew(
    turns: readonly RenewRequest[],
  ): Promise<{ verdicts: Verdict[]; bells: readonly Bell[]; trustedUntil: number }> {
    const asked = performance.now()
    const { keys, policy } = this.#o
    const reply = await this.#o.caller.call(
      renewScript,
      { leases: keys.leases, events: keys.events },
      {
        leaseMs: policy.leaseMs,
        bellMs: policy.bellMs,
        seed: newSeed(),
        turns: turns.flatMap((turn) => [
          turn.workerId,
          turn.token,
          turn.bell,
          turn.becomesBusy ? '1' : '0',
          turn.runState ?? '',
        ]),
      },
      { deadlineMs: policy.leaseMs / 3 },
    )
    const [bells, ...verdicts] = reply as string[]
    return {
      verdicts: verdicts as Verdict[],
      bells: parseBells(bells),
      trustedUntil: asked + policy.leaseMs - policy.leaseMarginMs,
    }
  }

  #decodeCommit(reply: Reply, asked: number): CommitAnswer {
    switch (reply[0]) {
      case 'ok':
        return {
          kind: 'ok',
          version: Number(reply[1]),
          bells: parseBells(reply[2]),
          claimed: this.#decodeClaim(reply[3] as Reply | null, asked),
          spending: decodeSpendings(reply[4] as string | null, reply[5] as string | null),
        }
      case 'fenced':
        return { kind: 'fenced', claimed: this.#decodeClaim(reply[1] as Reply | null, asked) }
      case 'conflict':
        return { kind: 'conflict', version: Number(reply[1]) }
      case 'cancelled':
        return { kind: 'cancelled' }
      case 'refused':
        return { kind: 'refused', refusals: (reply[1] as Reply[]).map(decodeRefusal) }
      default:
        throw new InvariantError(`commit answered ${JSON.stringify(reply[0])}`)
    }
  }

  #decodeClaim(reply: Reply | null, asked: number): ClaimAnswer {
    if (reply === null) return { kind: 'none' }
    const tag = reply[0]
    if (tag === 'empty' || tag === 'unfit') return { kind: tag }
    if (tag !== 'grant') throw new InvariantError(`claim answered ${JSON.stringify(tag)}`)
    return { kind: 'grant', grant: decodeGrant(reply, this.#trustedUntil(asked)) }
  }

  #trustedUntil(asked: number): number {
    return asked + this.#o.policy.leaseMs - this.#o.policy.leaseMarginMs
  }
}

function addFacts(lists: Argument[], request: CommitRequest, policy: Policy): void {
  const { attempt, retrying, controlUsed, familyUsed, familySeen, awaits, awaiting, timersOpen } = request
  if (attempt !== 0) lists.push('attempt', retrying === '' ? attempt : `${attempt} ${retrying}`)
  if (controlUsed !== 0) lists.push('controlUsed', controlUsed)
  if (familyUsed.length > 0) lists.push('familyUsed', familyUsed.join(','))
  if (familySeen !== 0) lists.push('familySeen', familySeen)
  if (awaits.length > 0) lists.push('awaits', encodeCalls(awaits))
  if (awaiting !== 0) lists.push('awaiting', awaiting)
  if (timersOpen !== 0) lists.push('timersOpen', timersOpen)
  const { stateJson, failure, outcome, result, dead, end } = request
  // A value over 64 bytes gets a key of its own, so that the record stays small in memory.
  if (stateJson !== undefined) lists.push(Buffer.byteLength(stateJson) <= 64 ? 'state' : 'stateKey', stateJson)
  if (failure !== undefined) lists.push('failure', failure === null ? '-' : JSON.stringify(failure))
  if (outcome !== undefined) lists.push('outcome', outcome)
  if (result !== undefined) lists.push('result', result)
  if (dead !== undefined) lists.push('dead', dead, 'deadKept', policy.deadLettersKept)
  if (end?.retryMs !== undefined) lists.push('retryMs', end.retryMs)
}

function decodeRefusal(reply: Reply): Refusal {
  const [reason, limit, id] = reply as [string, string | null, string]
  if (reason === 'damaged' || reason === 'session_finished') return { reason, limit: 0, id, what: limit ?? '' }
  return { reason, limit: Number(limit ?? 0), id }
}

/** As claims read it: each name with a space before and behind, and those that spawn nothing behind a !. */
function kindList(kinds: readonly string[], childless: ReadonlySet<string> = new Set()): string {
  const [none, some] = [kinds.filter((kind) => childless.has(kind)), kinds.filter((kind) => !childless.has(kind))]
  return ` ${[...some, ...(none.length > 0 ? ['!', ...none] : [])].join(' ')} `
}
