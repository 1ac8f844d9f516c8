/**
 * Duty: what turns need of the store, as narrow ports; what sweeps need of it is in upkeep.ts, and wake-ups are in wake.ts. Runtime and store know
 * these and never each other; compose.ts puts the real ones in.
 */

import type { Blob, BlobRef } from '../blob.ts'
import type { ResultStatus } from '../history/entry.ts'
import type { Spending, WorkerLimits } from '../policy.ts'
import type { AskSort } from '../worker/ask/ask.ts'
import type { SessionApproval } from '../worker/ask/session-approval.ts'
import type { EnterAnswer, Enterer, GatedWorker, GateOrder } from '../worker/gates.ts'
import type { Configuration } from '../worker/message/configuration.ts'
import type { Mail } from '../worker/message/message.ts'
import type { Steer, Steering } from '../worker/message/steer.ts'
import type { Permissions, SendReach } from '../worker/permissions.ts'
import type { Refusal } from '../worker/refusal.ts'
import type { CallCost } from '../worker/run/cost.ts'
import type { Failure } from '../worker/run/failure.ts'
import type { RunState } from '../worker/run/run-state.ts'
import type { Wakeup } from './wake.ts'

/** What all agents of a session have used, and may use. */
export interface SessionSpending {
  /** Null while its only agent counts in its own record. */
  readonly spent: Spending | null
  readonly allowed: Spending
}

/** What the record says of the run; carried by each commit. */
export interface RunPosition {
  /** The number of the run that is in progress, or of the next one. */
  readonly run: number
  /** How many children were spawned in this run, with detached ones: each takes the next number as its `call`. */
  readonly calls: number
  readonly runState: RunState
  readonly open: boolean
  /** Failed attempts of what `retrying` begins with. */
  readonly attempt: number
  /**
   * The message or call that waits for its retry: `<lane>:<position>` of a message, or `model:`, `busy:` or `tool:` and the iteration of an agent; empty for
   * none. If another message waits as well, its failed attempts and its position follow.
   */
  readonly retrying: string
  /** Calls whose results have not been received, in order. */
  readonly pendingCalls: readonly number[]
  /** Signals that this run still waits for: its timers and answers that have not been received. */
  readonly signalsOpen: number
  /** How many steps of handlers (`self.step`) this run has recorded. */
  readonly steps: number
}

/** The right to run one worker, and all that its turn needs to begin. */
export interface Assignment extends RunPosition, GatedWorker {
  readonly workerId: string
  /** run; cancelled: for its cancelling end only; poison: for its failing end only. */
  readonly purpose: 'run' | 'cancelled' | 'poison'
  readonly token: string
  readonly epoch: number
  /** It was started twice without a commit before: this node runs no other such worker at the same time. */
  readonly suspect: boolean
  readonly sessionId: string
  readonly parentId: string | null
  /** The root of a session that ends with its run. */
  readonly isJob: boolean
  /** The run of the parent that spawned it; null for a root, and for a detached child. */
  readonly parentRun: number | null
  /** The parent's call that waits for this run's result; null when nobody waits. */
  readonly call: number | null
  readonly kind: string
  readonly name: string
  readonly pool: string
  readonly depth: number
  readonly limits: WorkerLimits
  readonly spending: SessionSpending
  /** What its session says of approvals. */
  readonly approval: SessionApproval
  /** What it may use, where its session or its parent restricts that. */
  readonly permissions: Permissions
  /** The folder in which its node keeps all workers, whatever their permissions say; null or absent if there is none. */
  readonly nodeFolder?: string | null
  readonly version: number
  readonly starts: number
  readonly crashes: number
  /** True if the result of its session goes somewhere when it ends. Absent: it does not, or the worker is no root. */
  readonly notifies?: boolean
  /** When it came into the run queue, by the clock of Redis; absent if it stood in none, as children of the same turn. */
  readonly queuedAt?: number | null
  /** What the last node of the worker said before it died; null if it said nothing. */
  readonly lastWords: string | null
  readonly stateJson: string | null
  /** The last run that has begun on a node whose kind has `onCancel`, as the record said before this claim; 0: none. */
  readonly begunRun: number
  /** True if its session is a copy in which tools with effects are not run. */
  readonly isDryRun: boolean
  /** Id of the last commit; empty before the first. */
  readonly commitId: string
  /** How many results were ever removed from the lane. */
  readonly resultsTaken: number
  /** How many results have ever come, with those in this assignment. */
  readonly resultsSeen: number
  /** For results among this mail that are kept beside their lane: the numbers of their calls, by their positions. Absent: there is none. */
  readonly largeResults?: ReadonlyMap<number, number> | undefined
  readonly mail: { readonly signals: Mail[]; readonly results: Mail[]; readonly inbox: Mail[] }
  /** Inputs that steer the run in progress. Absent: none. */
  readonly steered?: readonly Steer[]
  /** What somebody has set for it. Null or absent: it is as its kind says. */
  readonly configured?: Configuration | null
  /** Moment on this node's monotonic clock after which the lease is no longer trusted. */
  readonly trustedUntil: number
}

/** A turn that the node runs now. */
export interface HeldTurn {
  readonly partition: number
  readonly workerId: string
  readonly sessionId: string
  readonly kind: string
  readonly token: string
  readonly isIsolated: boolean
}

export interface SpawnOrder {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly pool: string
  readonly detached: boolean
  readonly call: number
  readonly mail: string
  /** What it may use, in the form of `encodePermissions`; empty or absent: nothing is restricted. */
  readonly permissions?: string | undefined
}

/** An ask that a step opens (core/worker/ask/ask.ts). */
export interface AskOrder {
  readonly id: string
  readonly sort: AskSort
  /** The ask in the form of `encodeAskBody`. */
  readonly body: string
  /** When it expires, and the answer that the worker then receives; absent: never. */
  readonly expiry?: { readonly ms: number; readonly answer: string } | undefined
}

export interface SendOrder {
  readonly workerId: string
  readonly mail: string
  /** How far the sender may send, if its permissions say nothing of it. Absent: to all. */
  readonly reach?: SendReach | undefined
  /** A run in progress takes the message. Absent: the next run takes it. */
  readonly when?: Steering | undefined
}

/** Offers children to the slot, in place of a claim: the slot goes on with them, and holds all of them under one nonce. */
export interface SlotOffer {
  /** `<slot>+`: beside what the slot claims. */
  readonly slot: string
  readonly nonce: string
  /** For each spawn of the step: does the slot take it? The others enter the run queue. */
  readonly takes: readonly boolean[]
}

/** What a slot asks for when its turn ends. */
export interface NextClaim {
  readonly pool: string
  readonly wakeup: string
  readonly slot: string
  readonly nonce: string
  readonly maySuspect: boolean
  readonly wasBusy: boolean
  /** The wake-up was set long ago: it is set anew, so that it does not go stale while its slot is awake. */
  readonly keepWakeup: boolean
}

/** What a slot wants after a commit. null: to leave. stay: nothing, because it goes on with children, or another of its turns will ask. */
export type SlotNext = NextClaim | 'stay' | null

/** What a commit that ends a turn says of the turn and its worker. */
interface CommitEnd {
  /** What the worker waits for, as `encodeWait` writes it. */
  readonly wait: string
  readonly retryMs?: number
  /** The turn was released and recorded nothing: its start does not count. `isIsolated`: that was an isolated start. */
  readonly isUncounted?: boolean
  readonly isIsolated?: boolean
  /** For how long the turn has held its slot. */
  readonly turnMs?: number
}

export interface CommitRequest extends Omit<RunPosition, 'run' | 'calls'> {
  readonly workerId: string
  readonly pool: string
  readonly token: string
  readonly sequence: number
  readonly version: number
  readonly entries: readonly string[]
  readonly signalsConsumed: number
  readonly inputsConsumed: number
  readonly resultsConsumed: readonly number[]
  /** The calls of those results among them that are kept beside the lane. */
  readonly largeTaken?: readonly number[] | undefined
  readonly resultsSeen: number
  /** Inputs that the run in progress takes before their turn: positions in the lane. */
  readonly steersTaken?: readonly number[] | undefined
  /** Set with `end`: the turn has not seen inputs from this position on that steer the run. Absent: it knows of none. */
  readonly steersUnseenFrom?: number | undefined
  /** New state as JSON; undefined keeps it. */
  readonly stateJson?: string | undefined
  /** What somebody has set for this worker, as `encodeConfiguration` writes it. Absent: as before. */
  readonly configured?: string | undefined
  /** A failure is set, null clears it, undefined keeps it. */
  readonly failure?: Failure | null | undefined
  readonly outcome?: ResultStatus | undefined
  /** The costs of model calls whose replies the commit records, or whose costs nothing else would record. Absent: none. */
  readonly costs?: readonly CallCost[] | undefined
  /** Mail for the parent when the run ends. */
  readonly result?: string | undefined
  /** Evidence of a quarantine: it goes to the dead letters, with a consumed input. */
  readonly dead?: string | undefined
  /** How many results are still to come, or were when the run ended. */
  readonly pendingCount: number
  /** Set if the run ends: the ids of the children whose results were still to come. */
  readonly openChildren?: readonly string[] | undefined
  readonly spawns: readonly SpawnOrder[]
  /** How many awaited children may run at once; the others wait to start. Absent: the kind does not say, or nothing is spawned. */
  readonly childrenAtOnce?: number | undefined
  /** Set with `end`. */
  readonly offer?: SlotOffer | undefined
  readonly sends: readonly SendOrder[]
  readonly timers: readonly { readonly id: string; readonly ms: number; readonly valueJson: string }[]
  readonly asks: readonly AskOrder[]
  /** Children that are cancelled, although the run goes on. Absent: none. */
  readonly cancels?: readonly string[] | undefined
  /** Open asks that nobody need answer any more. An ask that has ended makes the store refuse the commit. */
  readonly withdraws: readonly string[]
  readonly event: string
  /** Set when the turn ends. `next`: what its slot does then. */
  readonly end?: (CommitEnd & { readonly next: SlotNext }) | undefined
  /** The wake-up that this turn answers; empty for none. */
  readonly wakeup: string
  /** Set with `end`: the wake-up was moved to the busy ones. */
  readonly wasBusy: boolean
}

export type ClaimAnswer =
  | { readonly kind: 'assigned'; readonly assignment: Assignment }
  | { readonly kind: 'empty' | 'unfit' | 'none' | 'later' }

export type CommitAnswer =
  | {
      readonly kind: 'ok'
      readonly version: number
      readonly wakeups: readonly Wakeup[]
      readonly claimed: ClaimAnswer
      /** Ids of the children that took what was offered to them, in the order of their spawns; absent: none. */
      readonly assigned?: readonly string[] | undefined
      /** Until when the leases of these children are trusted, as in an assignment. */
      readonly trustedUntil?: number
      readonly spending: SessionSpending
      readonly approval: SessionApproval
      /** The session is paused: the turn ends with its next step. Absent: it is not. */
      readonly isPaused?: boolean
      /** Inputs that steer the run in progress. Absent: none. */
      readonly steered?: readonly Steer[]
      /** The run has ended, and somebody waits at a gate for its place. Absent: nobody does. */
      readonly opensGate?: boolean
    }
  | { readonly kind: 'fenced'; readonly claimed: ClaimAnswer }
  | { readonly kind: 'conflict'; readonly version: number }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'refused'; readonly refusals: readonly Refusal[] }

export interface RenewRequest {
  readonly workerId: string
  readonly token: string
  readonly wakeup: string
  readonly becomesBusy: boolean
  /** The turn knows that its session is paused, and begins nothing more. */
  readonly isQuiet?: boolean
  /** What the run does, for the record; absent: what the last commit said. */
  readonly runState?: string
}

export type Verdict = 'kept' | 'fenced' | 'cancelled' | 'paused'
/** Inputs that steer the runs of turns, by the place of the turn among those that were asked for. Absent: none. */
export type RenewedSteers = ReadonlyMap<number, readonly Steer[]>

/** The store of one partition as a turn needs it. */
export interface TurnStore {
  readonly partition: number
  claim(next: NextClaim): Promise<ClaimAnswer>
  commit(request: CommitRequest): Promise<CommitAnswer>
  /** Asked before a run of a kind with gates begins. */
  enter(worker: Enterer, gates: readonly GateOrder[]): Promise<EnterAnswer>
  /** History entries from this position on, as they are stored. A negative position counts from the end. */
  readHistory(workerId: string, from: number): Promise<string[]>
  /** The inputs at these positions, as far as they are there. */
  readInputs(workerId: string, positions: readonly number[]): Promise<Mail[]>
  /** Why a worker was cancelled, as its `onCancel` gets it. */
  cancelReason(worker: Pick<Assignment, 'workerId' | 'sessionId' | 'depth' | 'run'>): Promise<string>
  renew(
    turns: readonly RenewRequest[],
  ): Promise<{ verdicts: Verdict[]; steered?: RenewedSteers; wakeups: readonly Wakeup[]; trustedUntil: number }>
}

/** Blobs of the sessions of one partition (core/blob.ts). */
export interface BlobStore {
  /** `gone`: there is no such session any more. `full`: its blobs would be too many, or too many bytes. `tooLong`: no blob may have as many. */
  keep(
    sessionId: string,
    blob: Blob,
  ): Promise<{ readonly kind: 'kept'; readonly ref: BlobRef } | { readonly kind: 'full' | 'tooLong' | 'gone' }>
  /** The blob that the session has under this id; null if it has none. */
  find(sessionId: string, id: string): Promise<BlobRef | null>
  /** The bytes of a blob from `offset` on, at most `length`; all of them without a range. Null if the session has no such blob. */
  read(
    sessionId: string,
    id: string,
    range?: { readonly offset: number; readonly length: number },
  ): Promise<Buffer | null>
  /** All blobs of a session. */
  list(sessionId: string): Promise<readonly BlobRef[]>
}
