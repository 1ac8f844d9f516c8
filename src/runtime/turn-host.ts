/** Duty: what a turn needs of its node. */
import type { Policy } from '../core/policy.ts'
import type { Bell, Grant, LivePublisher, NextClaim, TurnStore } from '../core/ports.ts'
import type { WorkerLog } from '../core/worker-log.ts'

export interface TurnHost {
  readonly store: TurnStore
  readonly log: WorkerLog
  readonly policy: Policy
  /** The bell this turn's slot answers; empty when it answers none. */
  readonly bell: string
  ring(bells: readonly Bell[]): void
  /** What the slot wants next, or null to leave. Asked just before each try of the ending commit. */
  nextClaim(): NextClaim | null
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
