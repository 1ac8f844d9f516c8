/**
 * Duty: claim, commit and renew of one node in one partition.
 * Owns: the form of their arguments and answers. Does not own: what a turn decides, or when.
 * CLAIM-1 A claim or commit that is sent again gives the same assignment: the nonce is kept by the caller across its own re-sends.
 * CLAIM-2 `trustedUntil` is counted from before the call was sent, so the node stops trusting its lease before Redis does.
 */

import { performance } from 'node:perf_hooks'
import type { Policy } from '../core/policy.ts'
import type {
  ClaimAnswer,
  CommitAnswer,
  CommitRequest,
  NextClaim,
  RenewRequest,
  TurnStore,
  Verdict,
} from '../core/ports/ports.ts'
import type { Wakeup } from '../core/ports/wake.ts'
import { decodeClaim } from './commit/claim-answer.ts'
import { Commits } from './commit/commits.ts'
import { type PartitionKeys, workerKeys } from './keys.ts'
import type { Redis } from './redis/redis.ts'
import { guarded } from './script/guarded.ts'
import { type ScriptCaller } from './script/script.ts'
import { claimScript, renewScript } from './script/scripts.ts'
import { newSeed, parseWakeups } from './wakeups.ts'

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
  readonly #commits: Commits

  constructor(options: TurnStoreOptions) {
    this.#o = options
    this.partition = options.partition
    for (const [pool, kinds] of options.kinds) this.#kindLists.set(pool, kindList(kinds, options.childless))
    const { caller, keys, nodeId, policy } = options
    this.#commits = new Commits(caller, keys, { nodeId, kindLists: this.#kindLists, policy })
  }

  async claim(next: NextClaim): Promise<ClaimAnswer> {
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
        wakeup: next.wakeup,
        node: nodeId,
        slot: next.slot,
        nonce: next.nonce,
        kinds: this.#kindLists.get(next.pool) ?? ' ',
        maySuspect: next.maySuspect,
        wasBusy: next.wasBusy,
        keepWakeup: next.keepWakeup,
        leaseMs: policy.leaseMs,
        wakeupMs: policy.wakeupMs,
        mailBytes: policy.claimMailBytes,
        suspectAfter: policy.suspectAfterStarts,
        poisonAfter: policy.poisonAfterIsolatedStarts,
      },
      { deadlineMs: policy.leaseMs },
    )
    return decodeClaim(reply, asked + policy.leaseMs - policy.leaseMarginMs)
  }

  commit(request: CommitRequest): Promise<CommitAnswer> {
    return this.#commits.commit(request)
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
  ): Promise<{ verdicts: Verdict[]; wakeups: readonly Wakeup[]; trustedUntil: number }> {
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
        turns: turns.map(({ workerId, token, wakeup, becomesBusy, runState }) => ({
          worker: workerId,
          token,
          wakeup: wakeup || undefined,
          becomesBusy: becomesBusy || undefined,
          runState: runState || undefined,
        })),
      },
      { deadlineMs: policy.leaseMs / 3 },
    )
    const [wakeups, ...verdicts] = reply as string[]
    return {
      verdicts: verdicts as Verdict[],
      wakeups: parseWakeups(wakeups),
      trustedUntil: asked + policy.leaseMs - policy.leaseMarginMs,
    }
  }
}

/** As claims read it: each name with a space before and behind, and those that spawn nothing behind a !. */
function kindList(kinds: readonly string[], childless: ReadonlySet<string> = new Set()): string {
  const [none, some] = [kinds.filter((kind) => childless.has(kind)), kinds.filter((kind) => !childless.has(kind))]
  return ` ${[...some, ...(none.length > 0 ? ['!', ...none] : [])].join(' ')} `
}
