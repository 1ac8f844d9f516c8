/** Duty: what a turn needs of its node and its slot, and the plan of the slot, as data. */

import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { Policy } from '../../core/policy.ts'
import type { LivePublisher } from '../../core/ports/live.ts'
import type { Assignment, BlobStore, NextClaim, SlotOffer, TurnStore } from '../../core/ports/ports.ts'
import type { Telemetry } from '../../core/ports/telemetry.ts'
import type { Wakeup } from '../../core/ports/wake.ts'
import type { Step } from './step/step.ts'

/** A turn that is about to end, as its slot sees it. */
export interface EndingTurn {
  readonly assignment: Assignment
  /** The turn was cancelled, or its node stops. */
  readonly aborted: boolean
}

/** What the slot does next. The slot makes this plan, and the ending commit of the turn carries it out. */
export type SlotPlan =
  | { readonly kind: 'claim'; readonly claim: NextClaim }
  /** `wasBusy`: the slot's wake-up is among the busy ones. */
  | { readonly kind: 'leave'; readonly wasBusy: boolean }
  /** The slot runs something else first. `children`: children that this very step spawns, offered to the slot (inline-children.ts). */
  | { readonly kind: 'stay'; readonly children?: SlotOffer }

export interface TurnHost {
  readonly nodeId: string
  readonly store: TurnStore
  readonly blobs: BlobStore
  readonly log: WorkerLog
  readonly policy: Policy
  /** The wake-up that this turn's slot answers; empty when it answers none. */
  readonly wakeup: string
  wake(wakeups: readonly Wakeup[]): void
  /** Asked before each attempt of the ending commit, with the step that it records. */
  plan(turn: EndingTurn, step: Step): SlotPlan
  /** The turn has become long: the slot's wake-up is being moved to the busy ones. */
  noteBusy(): void
  /** A timer was committed: the sweeper looks again when it is due. */
  noteTimer(ms: number): void
  /** A run has ended, and somebody waits at a gate for its place: the sweeper lets those begin that may. */
  noteGate(): void
  /** Pool of a kind; "unhosted" when no node ever registered it. */
  poolOf(kind: string): string
  /** What this node knows of a kind; empty for a kind it does not host. */
  describeKind(kind: string): string
  readonly live: LivePublisher
  readonly telemetry: Telemetry
  /** A log with the worker's ids. */
  workerLog(assignment: Assignment, run: number): WorkerLog
}
