/** A node and its turns by hand: it claims, commits, renews and sweeps when the test says so, and keeps count as a turn does. */
import type {
  ClaimAnswer,
  CommitAnswer,
  CommitRequest,
  Grant,
  NextClaim,
  PoolShare,
} from '../../../src/core/ports/ports.ts'
import { RedisTurnStore } from '../../../src/store/turn-store.ts'
import { RedisUpkeepStore } from '../../../src/store/upkeep-store.ts'
import type { Place } from './place.ts'

export interface HandNodeOptions {
  readonly id?: string
  /** Kinds by pool. */
  readonly kinds?: Readonly<Record<string, readonly string[]>>
  /** Those of them that spawn nothing. */
  readonly childless?: readonly string[]
  readonly slots?: number
}

export interface SweepWish {
  readonly free?: number
  readonly share?: number
  readonly slots?: number
  readonly leaving?: boolean
  /** Another sweep may have been just now. */
  readonly soonAfter?: boolean
}

export type CommitWish = Partial<CommitRequest>

export class HandNode {
  readonly id: string
  readonly turns: RedisTurnStore
  readonly #place: Place
  readonly upkeep: RedisUpkeepStore
  readonly #kinds: Readonly<Record<string, readonly string[]>>
  readonly #slots: number

  constructor(place: Place, options: HandNodeOptions) {
    this.#place = place
    this.id = options.id ?? 'node-a'
    this.#kinds = options.kinds ?? { default: ['echo'] }
    this.#slots = options.slots ?? 2
    const common = {
      redis: place.wire.face,
      caller: place.caller,
      keys: place.keys,
      partition: 0,
      nodeId: this.id,
      policy: place.policy,
    }
    this.turns = new RedisTurnStore({
      ...common,
      kinds: new Map(Object.entries(this.#kinds)),
      childless: new Set(options.childless),
    })
    this.upkeep = new RedisUpkeepStore({ ...common, nodeFacts: { host: 'here' } })
  }

  next(wish: Partial<NextClaim> = {}): NextClaim {
    return {
      pool: 'default',
      bell: '',
      slot: '0',
      nonce: this.#place.nonce(),
      maySuspect: true,
      wasBusy: false,
      keepBell: false,
      ...wish,
    }
  }

  ask(wish: Partial<NextClaim> = {}): Promise<ClaimAnswer> {
    return this.turns.claim(this.next(wish))
  }

  /** Claims the next worker; the test fails when there is none. */
  async claim(wish: Partial<NextClaim> = {}): Promise<HandTurn> {
    const next = this.next(wish)
    return new HandTurn(this, granted(await this.turns.claim(next)), next.bell)
  }

  /** Sweeps as if no other node had done so just now, unless the test wants to see that. */
  async sweep(wish: SweepWish = {}): ReturnType<RedisUpkeepStore['sweep']> {
    const { free = this.#slots, share = 0 } = wish
    if (!wish.soonAfter) await this.#place.redis.hdel(this.#place.keys.meta, 'sweptAt')
    const shares: PoolShare[] = Object.entries(this.#kinds).map(([pool, kinds]) => ({ pool, kinds, free, share }))
    return this.upkeep.sweep(wish.slots ?? this.#slots, shares, wish.leaving ?? false)
  }
}

export function granted(answer: ClaimAnswer): Grant {
  if (answer.kind !== 'grant') throw new Error(`Nothing was granted: ${answer.kind}.`)
  return answer.grant
}

export class HandTurn {
  readonly node: HandNode
  readonly grant: Grant
  readonly bell: string
  sequence = 0
  version: number

  constructor(node: HandNode, grant: Grant, bell = '') {
    this.node = node
    this.grant = grant
    this.bell = bell
    this.version = grant.version
  }

  get worker(): string {
    return this.grant.workerId
  }

  /** The request a turn would send next; nothing is used, written or ended unless the test wishes so. */
  request(wish: CommitWish = {}): CommitRequest {
    const { grant } = this
    return {
      workerId: grant.workerId,
      pool: grant.pool,
      token: grant.token,
      sequence: this.sequence + 1,
      version: this.version,
      runState: 'ProcessingUserMessage',
      retrying: '',
      open: true,
      attempt: 0,
      entries: [],
      controlUsed: 0,
      userUsed: 0,
      familyUsed: [],
      familySeen: grant.familySeen,
      awaits: [],
      awaiting: wish.awaits?.length ?? 0,
      timersOpen: 0,
      spawns: [],
      sends: [],
      timers: [],
      event: '',
      bell: this.bell,
      wasBusy: false,
      ...wish,
    }
  }

  async commit(wish: CommitWish = {}): Promise<CommitAnswer> {
    const answer = await this.node.turns.commit(this.request(wish))
    this.sequence++
    if (answer.kind === 'ok') this.version = answer.version
    return answer
  }

  /** Commits; the test fails when that is not accepted. */
  async record(wish: CommitWish = {}): Promise<CommitAnswer & { kind: 'ok' }> {
    const answer = await this.commit(wish)
    if (answer.kind !== 'ok') throw new Error(`The commit was not accepted: ${JSON.stringify(answer)}`)
    return answer
  }

  /** Consumes the input at the head and parks for this. */
  park(wait: string, wish: CommitWish = {}): Promise<CommitAnswer & { kind: 'ok' }> {
    return this.record({ entries: ['{"type":"received"}'], userUsed: 1, end: { wait, next: null }, ...wish })
  }

  /** Consumes the input at the head and ends run and turn. */
  complete(wish: CommitWish = {}): Promise<CommitAnswer & { kind: 'ok' }> {
    return this.record({ ...completion, userUsed: 1, ...wish })
  }
}

/** A commit that ends run and turn with a result. */
export const completion: CommitWish = {
  entries: ['{"type":"received"}', '{"type":"completed"}'],
  runState: 'Idle',
  open: false,
  outcome: 'completed',
  event: '[["run.completed"]]',
  end: { wait: 'any', next: null },
}

/** Why a run of a test failed. */
export const runFailure = {
  code: 'run_failed',
  message: 'x',
  origin: 'handler',
  at: 1,
  attempt: 1,
  retryable: false,
} as const
