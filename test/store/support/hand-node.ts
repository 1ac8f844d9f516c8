/** A node and its turns by hand: it claims, commits, renews and sweeps when the test says so, and keeps count as a turn does. */
import type { Assignment, ClaimAnswer, CommitAnswer, CommitRequest, NextClaim } from '../../../src/core/ports/ports.ts'
import type { PoolLoad } from '../../../src/core/ports/upkeep.ts'
import type { GuestStore } from '../../../src/store/turn/guest-store.ts'
import { RedisTurnStore } from '../../../src/store/turn/turn-store.ts'
import { RedisUpkeepStore } from '../../../src/store/upkeep-store.ts'
import type { Place } from './place.ts'

export interface HandNodeOptions {
  readonly id?: string
  /** Kinds by pool. */
  readonly kinds?: Readonly<Record<string, readonly string[]>>
  /** The kinds among them that spawn nothing. */
  readonly childless?: readonly string[]
  /** The kinds among them that have `onCancel`. */
  readonly withOnCancel?: readonly string[]
  readonly slots?: number
  /** Brings runs to gates in another partition. */
  readonly guests?: GuestStore
}

export interface SweepWish {
  readonly free?: number
  readonly workersPerWake?: number
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
      partition: place.partition,
      ...(options.guests && { guests: options.guests }),
      nodeId: this.id,
      policy: place.policy,
    }
    this.turns = new RedisTurnStore({
      ...common,
      kinds: new Map(Object.entries(this.#kinds)),
      childless: new Set(options.childless),
      withOnCancel: new Set(options.withOnCancel),
    })
    this.upkeep = new RedisUpkeepStore({ ...common, nodeFacts: { host: 'here' } })
  }

  next(wish: Partial<NextClaim> = {}): NextClaim {
    return {
      pool: 'default',
      wakeup: '',
      slot: '0',
      nonce: this.#place.nonce(),
      maySuspect: true,
      wasBusy: false,
      keepWakeup: false,
      ...wish,
    }
  }

  ask(wish: Partial<NextClaim> = {}): Promise<ClaimAnswer> {
    return this.turns.claim(this.next(wish))
  }

  /** Claims the next worker; the test fails when there is none. */
  async claim(wish: Partial<NextClaim> = {}): Promise<HandTurn> {
    const next = this.next(wish)
    return new HandTurn(this, assigned(await this.turns.claim(next)), next.wakeup)
  }

  /** Sweeps as if no other node had done so just now, unless the test wants to see that. */
  async sweep(wish: SweepWish = {}): ReturnType<RedisUpkeepStore['sweep']> {
    const { free = this.#slots, workersPerWake = 0 } = wish
    if (!wish.soonAfter) await this.#place.redis.hdel(this.#place.keys.meta, 'sweptAt')
    const poolLoads: PoolLoad[] = Object.entries(this.#kinds).map(([pool, kinds]) => ({
      pool,
      kinds,
      free,
      workersPerWake,
    }))
    return this.upkeep.sweep(wish.slots ?? this.#slots, poolLoads, wish.leaving ?? false)
  }
}

export function assigned(answer: ClaimAnswer): Assignment {
  if (answer.kind !== 'assigned') throw new Error(`Nothing was assigned: ${answer.kind}.`)
  return answer.assignment
}

export class HandTurn {
  readonly node: HandNode
  readonly assignment: Assignment
  readonly wakeup: string
  sequence = 0
  version: number

  constructor(node: HandNode, assignment: Assignment, wakeup = '') {
    this.node = node
    this.assignment = assignment
    this.wakeup = wakeup
    this.version = assignment.version
  }

  get worker(): string {
    return this.assignment.workerId
  }

  /** The request a turn would send next; nothing is used, written or ended unless the test wishes so. */
  request(wish: CommitWish = {}): CommitRequest {
    const { assignment } = this
    return {
      workerId: assignment.workerId,
      pool: assignment.pool,
      token: assignment.token,
      sequence: this.sequence + 1,
      version: this.version,
      runState: 'ProcessingUserMessage',
      retrying: '',
      open: true,
      attempt: 0,
      entries: [],
      signalsConsumed: 0,
      inputsConsumed: 0,
      resultsConsumed: [],
      resultsSeen: assignment.resultsSeen,
      pendingCalls: [],
      pendingCount: wish.pendingCalls?.length ?? 0,
      signalsOpen: 0,
      steps: 0,
      spawns: [],
      sends: [],
      timers: [],
      asks: [],
      withdraws: [],
      event: '',
      wakeup: this.wakeup,
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
    return this.record({ entries: ['{"type":"received"}'], inputsConsumed: 1, end: { wait, next: null }, ...wish })
  }

  /** Consumes the input at the head and ends run and turn. */
  complete(wish: CommitWish = {}): Promise<CommitAnswer & { kind: 'ok' }> {
    return this.record({ ...completion, inputsConsumed: 1, ...wish })
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
