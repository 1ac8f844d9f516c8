/**
 * Duty: claim, commit and renew of one node in one partition.
 * Owns: the form of their arguments and answers. Does not own: what a turn decides, or when.
 * T-a A claim or commit that is sent again gives the same grant: the nonce is kept by the caller across its own re-sends.
 * T-b `trustedUntil` is counted from before the call was sent, so the node stops trusting its lease before Redis does.
 */

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
import { type PartitionKeys, sessionKeys, workerKeys } from './keys.ts'
import type { Redis } from './redis.ts'
import { guarded, type Reply, type ScriptCaller } from './script.ts'
import { claimScript, commitScript, renewScript } from './scripts.ts'

export interface TurnStoreOptions {
  readonly redis: Redis
  readonly caller: ScriptCaller
  readonly keys: PartitionKeys
  readonly partition: number
  readonly nodeId: string
  /** Kinds this node hosts, by pool. */
  readonly kinds: ReadonlyMap<string, readonly string[]>
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
    for (const [pool, kinds] of options.kinds) this.#kindLists.set(pool, ` ${kinds.join(' ')} `)
  }

  async claim(next: NextClaim): Promise<ClaimAnswer> {
    const asked = performance.now()
    return this.#decodeClaim(await this.#callClaim(next, '0'), asked)
  }

  async leave(pool: string, bell: string): Promise<readonly Bell[]> {
    const reply = await this.#callClaim(
      { pool, bell, slot: '', nonce: '', maySuspect: false, wasBusy: true, keepBell: false },
      '1',
    )
    return parseBells(reply[1])
  }

  #callClaim(next: NextClaim, leave: '0' | '1'): Promise<Reply> {
    const { keys, nodeId, policy } = this.#o
    return this.#o.caller.call(
      claimScript,
      {
        run: keys.run(next.pool),
        leases: keys.leases,
        grants: keys.grants(nodeId),
        bells: keys.bells(next.pool),
        busy: keys.busy(next.pool),
        slots: keys.slots(next.pool),
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
        leave,
        seed: leave === '1' ? newSeed() : '',
      },
      { deadlineMs: policy.leaseMs },
    )
  }

  async commit(request: CommitRequest): Promise<CommitAnswer> {
    const asked = performance.now()
    const reply = await this.#o.caller.call(commitScript, this.#commitKeys(request), this.#commitArguments(request), {
      deadlineMs: this.#o.policy.leaseMs,
    })
    return this.#decodeCommit(reply, asked)
  }

  #commitKeys(request: CommitRequest) {
    const { keys, nodeId } = this.#o
    const worker = workerKeys(keys.tag, request.workerId)
    const session = sessionKeys(keys.tag, request.sessionId)
    return {
      record: worker.record,
      log: worker.log,
      session: session.session,
      cancelled: session.cancelled,
      control: worker.control,
      family: worker.family,
      user: worker.user,
      stateKey: worker.state,
      failureKey: worker.failure,
      leases: keys.leases,
      run: keys.run(request.pool),
      bells: keys.bells(request.pool),
      busy: keys.busy(request.pool),
      slots: keys.slots(request.pool),
      grants: keys.grants(nodeId),
      events: keys.events,
      timers: keys.timers,
      workers: session.workers,
    }
  }

  #commitArguments(request: CommitRequest) {
    const { nodeId, policy } = this.#o
    const next = request.end?.next ?? null
    return {
      worker: request.workerId,
      token: request.token,
      sequence: request.sequence,
      version: request.version,
      fsm: request.runState,
      open: request.open ? '1' : '0',
      attempt: request.retrying === '' ? request.attempt : `${request.attempt} ${request.retrying}`,
      controlUsed: request.controlUsed,
      userUsed: request.userUsed,
      familyUsed: request.familyUsed.join(','),
      familySeen: request.familySeen,
      ...stateArguments(request.stateJson),
      failure: request.failure === undefined ? '' : request.failure === null ? '-' : JSON.stringify(request.failure),
      outcome: request.outcome ?? '',
      result: request.result ?? '',
      dead: request.dead ?? '',
      wait: request.end?.wait ?? '',
      retryMs: request.end?.retryMs ?? 0,
      event: request.event,
      deadKept: policy.deadLettersKept,
      awaits: encodeCalls(request.awaits),
      awaiting: request.awaiting,
      timersOpen: request.timersOpen,
      leaseMs: policy.leaseMs,
      bell: request.bell,
      bellMs: policy.bellMs,
      seed: newSeed(),
      nonce: next?.nonce ?? '',
      slot: next?.slot ?? '',
      node: nodeId,
      kinds: this.#kindLists.get(request.pool) ?? ' ',
      maySuspect: next?.maySuspect ? '1' : '0',
      wasBusy: request.wasBusy || next?.wasBusy ? '1' : '0',
      keepBell: next?.keepBell ? '1' : '0',
      mailBytes: policy.claimMailBytes,
      suspectAfter: policy.suspectAfterStarts,
      poisonAfter: policy.poisonAfterStartsAlone,
      entries: listArguments(request),
    }
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
          claimed: this.#decodeClaim(reply[3] as Reply, asked),
        }
      case 'fenced':
        return { kind: 'fenced', claimed: this.#decodeClaim(reply[1] as Reply, asked) }
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

  #decodeClaim(reply: Reply, asked: number): ClaimAnswer {
    const tag = reply[0]
    if (tag === 'empty' || tag === 'unfit' || tag === 'none') return { kind: tag }
    if (tag !== 'grant') throw new InvariantError(`claim answered ${JSON.stringify(tag)}`)
    return { kind: 'grant', grant: decodeGrant(reply, this.#trustedUntil(asked)) }
  }

  #trustedUntil(asked: number): number {
    return asked + this.#o.policy.leaseMs - this.#o.policy.leaseMarginMs
  }
}

/** A value over 64 bytes gets a key of its own, so that the record stays small in memory. "@" marks that key. */
function stateArguments(stateJson: string | undefined): { stateMode: string; state: string } {
  if (stateJson === undefined) return { stateMode: 'keep', state: '' }
  return { stateMode: Buffer.byteLength(stateJson) <= 64 ? 'inline' : 'key', state: stateJson }
}

function listArguments(request: CommitRequest): (string | number)[] {
  const flat: (string | number)[] = [request.entries.length, ...request.entries, request.spawns.length]
  for (const spawn of request.spawns) {
    const { id, kind, name, pool, detached, call, grant = '', mail } = spawn
    flat.push(id, kind, name, pool, detached ? '1' : '0', call, grant, mail)
  }
  flat.push(request.sends.length)
  for (const send of request.sends) flat.push(send.workerId, send.mail)
  flat.push(request.timers.length)
  for (const timer of request.timers) flat.push(timer.id, timer.ms, timer.valueJson)
  return flat
}

function decodeRefusal(reply: Reply): Refusal {
  const [reason, limit, id] = reply as [string, string | null, string]
  return { reason, limit: Number(limit ?? 0), id }
}
