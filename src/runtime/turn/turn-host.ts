/** Duty: what a turn needs of its node. */

import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { Policy } from '../../core/policy.ts'
import type { Bell, Grant, LivePublisher, SlotNext, SlotOffer, TurnStore } from '../../core/ports/ports.ts'
import type { Step } from './step.ts'

/** A turn, as its slot sees it. */
export interface EndingTurn {
  readonly aborted: boolean
  /** The bell was moved to the busy ones, as far as Redis was told of this slot. */
  bellIsBusy: boolean
}

export interface SlotEnd {
  readonly next: SlotNext
  /** To those of the spawns of the step that the slot goes on with. */
  readonly offer?: SlotOffer | undefined
}

export interface TurnHost {
  readonly store: TurnStore
  readonly log: WorkerLog
  readonly policy: Policy
  /** The bell this turn's slot answers; empty when it answers none. */
  readonly bell: string
  ring(bells: readonly Bell[]): void
  /** What the slot does when this turn has ended. Asked just before each try of the ending commit, with the step that it records. */
  next(turn: EndingTurn, step: Step): SlotEnd
  /** A timer was committed: the sweeper looks again when it is due. */
  noteTimer(ms: number): void
  /** Pool of a kind; "unhosted" when no node ever registered it. */
  poolOf(kind: string): string
  /** What this node knows of a kind; empty for a kind it does not host. */
  describeKind(kind: string): string
  readonly live: LivePublisher
  /** A log with the worker's ids. */
  workerLog(grant: Grant, run: number): WorkerLog
}
