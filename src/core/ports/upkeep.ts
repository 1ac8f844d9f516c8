/** Duty: what the upkeep of a partition needs of the store: the register of nodes, sweeps, timers, cancels, and what is pruned, forgotten or packed. */
import type { GuestsAnswered, Wakeup } from './wake.ts'

/** What a node registers of a kind that it hosts. */
export interface HostedKind {
  readonly kind: string
  readonly pool: string
  readonly description: string
  /** The window of its model in tokens, if its author says it. */
  readonly window?: number | undefined
  /** JSON Schema of its inputs, if it has one that is not too long. */
  readonly input?: Readonly<Record<string, unknown>> | undefined
}

export interface PoolLoad {
  readonly pool: string
  readonly kinds: readonly string[]
  readonly free: number
  /** Workers that a slot which is awake may be expected to take in a row; 0 when this node has run none lately. */
  readonly workersPerWake: number
}

/** What a node must know of a partition in which there is nothing to do. */
export interface Rest {
  /** Until the next timer is due; null without any. */
  readonly dueInMs: number | null
  readonly isPaused: boolean
  readonly kinds: string
}

/** What one sweep of a partition did and saw. */
export interface SweepAnswer {
  readonly healed: number
  readonly wakeups: readonly Wakeup[]
  /** Workers whose records cannot be read; they wait until they are mended. */
  readonly damaged: readonly string[]
  /** How many wait for a node of their kind, if this sweep took some in; else 0. */
  readonly left: number
  /** All sessions are paused, so that no wake-ups come. */
  readonly isPaused: boolean
  /** True if no other node healed a moment ago: this one did, and it does what else only one node is to do. */
  readonly isHealer: boolean
  /** The next sweep is to follow at once. */
  readonly hasMore: boolean
  /** The node was not registered any more. */
  readonly wasGone: boolean
  /** By how much the clock of the store was set back, and how many timers moved by as much, once all have. */
  readonly setBack: { readonly ms: number; readonly timers: number } | null
  /** Changes when a kind was registered, or registered anew. */
  readonly kinds: string
}

export interface DamagedSession {
  readonly sessionId: string
  readonly error: Error
}

/** The store of one partition as the sweeper needs it. */
export interface UpkeepStore {
  readonly partition: number
  /** Registers the node and everything that it hosts at once: nobody may learn before that the node is ready. */
  announce(slots: number, kinds: readonly HostedKind[]): Promise<void>
  /** `turnsLeft`: how many turns the node still runs while it drains, for those who look; null, the default, if it does not drain. */
  sweep(slots: number, loads: readonly PoolLoad[], leaving: boolean, turnsLeft?: number | null): Promise<SweepAnswer>
  /**
   * Says that the node lives, and looks whether there is anything to do. Null: there is, so a sweep is due. `kinds`: as in the
   * answer of `sweep`.
   */
  rest(): Promise<Rest | null>
  /**
   * `notices`: what this node is to tell outside now (core/webhook/notice.ts). With a later call the node says which it has told; otherwise another
   * node tells them.
   */
  fire(told?: readonly string[]): Promise<{
    readonly fired: number
    readonly dueInMs: number | null
    readonly wakeups: readonly Wakeup[]
    readonly notices: readonly string[]
    /** What follows in other partitions, once they have answered. It never rejects. Absent: nothing does. */
    readonly follows: Promise<GuestsAnswered> | undefined
  }>
  /**
   * Finishes one batch of cancels. `finished`: sessions whose cancel is over. `damaged`: sessions that cannot be finished before they are mended.
   * `wakeups`: for workers that go on, because only one of their runs or of their children was cancelled.
   */
  finishCancelled(): Promise<{
    finished: number
    damaged: readonly DamagedSession[]
    wakeups: readonly Wakeup[]
  }>
  /** Prunes one batch of the pass that nodes share. `done`: the pass is over, or another node makes it. */
  prune(): Promise<{ pruned: number; done: boolean }>
  /** Forgets kinds and pools that no node has hosted for long and for which no work waits. Returns the names of what it forgot. */
  forgetKinds(): Promise<{ kinds: readonly string[]; pools: readonly string[] }>
  /** Packs some of the histories that have rested for long, on the walk that nodes share. `done`: it is over, or another node makes it. */
  pack(): Promise<{ packed: number; done: boolean }>
  /** What makes this Redis unfit now, for example that it may evict keys, or is nearly full; null when nothing does. */
  redisProblem(): Promise<string | null>
  /** Pool of each kind that nodes have ever registered. */
  kindPools(): Promise<ReadonlyMap<string, string>>
}
