/**
 * Duty: wake-ups as everybody but src/wake sees them: the store puts them, clients and nodes send them, a node answers them.
 * Does not own how a wake-up travels, nor what happens to it on the way: only src/wake knows.
 */

/** A request that a slot of a pool wakes up and claims. It names no worker, and there may be nothing left to claim. */
export interface Wakeup {
  readonly id: string
  readonly pool: string
}

/** Sends wake-ups to nodes. It never throws and nobody waits for it: when a wake-up is lost, a sweep finds the work later. */
export interface Waker {
  wake(partition: number, wakeups: readonly Wakeup[]): void
}

/** The first claim that a slot makes in the run queue of a pool, after it was free or in another queue. */
export interface FirstClaim {
  /** Id of the wake-up that brought the slot there. */
  readonly wakeup: string
  /** The queue holds only work that this node cannot run, but another may. */
  readonly isUnfit: boolean
}

/** What a node does with one wake-up. Its promises never reject. */
export interface Waking {
  /** Resolves with null if the claim got no answer, or if no slot will come because the node drains. */
  readonly firstClaim: Promise<FirstClaim | null>
  /**
   * Resolves when the slot has left the queue; `unfit` if it leaves only work that this node cannot run. Null if no slot was free: then
   * `firstClaim` is that of a slot which comes to this queue later.
   */
  readonly end: Promise<'done' | 'unfit'> | null
}

/** How a node takes a wake-up, whatever way that came. */
export type OnWake = (partition: number, wakeup: Wakeup) => Waking

/** Wake-ups in another partition. */
export interface WakeupsThere {
  readonly partition: number
  readonly wakeups: readonly Wakeup[]
}

/** What follows from telling other partitions of runs. */
export interface GuestsAnswered {
  /** For runs of other partitions that may begin now. */
  readonly woken: readonly WakeupsThere[]
  /** Somebody waits at a gate in the first partition for a place that is free now. */
  readonly opensGate: boolean
}
