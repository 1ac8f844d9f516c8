/**
 * Duty: the interface of all contestants, so that the same loop can drive each of them.
 * CONTESTANT-1 A unit is over when its producer has seen the result, through Redis as any other process would. Exception: the
 * raw job has no result and is over when it was processed.
 * CONTESTANT-2 Producers and workers of a contestant share one process. Contestants that a figure compares have the same
 * number of slots.
 */

/** A contestant has as many runs in flight as slots: an agent holds its slot while its model thinks, so a real system has a slot for each run. */
export const runsInFlight = 50

/** Room for running turns in a node, and the concurrency of a BullMQ worker: the same for all. */
export const slots = 50

/** The number of slots in two rows that show the scale: BullMQ alone is fastest when jobs wait, because each job that ends fetches the next. */
export const fewSlots = 25

/** Eleven workers each, so 275 in all: enough to fill every slot of every contestant several times. */
export const treesInFlight = 25

export interface Place {
  readonly redisUrl: string
  /** Each opening gets its own; a contestant puts all its keys below it. */
  readonly namespace: string
}

export interface Contestant {
  readonly id: string
  /** The name of this contestant in the table. */
  readonly name: string
  readonly unit: 'job' | 'run' | 'tree'
  readonly inFlight: number
  readonly slots: number
  open(place: Place): Promise<OpenContestant>
}

export interface OpenContestant {
  /** Does one unit from beginning to end; rejects if its result is wrong. */
  perform(): Promise<void>
  close(): Promise<void>
}
