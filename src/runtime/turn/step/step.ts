/**
 * Duty: a step: what one message, one model reply or one tool call changed, as data, before it is committed. Which steps go into one commit: step-queue.ts.
 */
import type { RuntimeError } from '../../../core/errors.ts'
import type { EventNote } from '../../../core/event/event.ts'
import type { CommitRequest, RunPosition, SpawnOrder } from '../../../core/ports/ports.ts'
import type { Failure } from '../../../core/worker/run/failure.ts'

export interface Step {
  readonly entries: readonly string[]
  readonly signalsConsumed: number
  readonly inputsConsumed: number
  readonly resultsConsumed: readonly number[]
  /** Positions of inputs that the run in progress takes before their turn. Absent: none. */
  readonly steersTaken?: readonly number[] | undefined
  readonly stateJson?: string | undefined
  readonly configured?: CommitRequest['configured']
  readonly failure?: Failure | null | undefined
  readonly costs?: CommitRequest['costs']
  readonly outcome?: CommitRequest['outcome']
  /** The ids of the children whose results were still to come when the run ended. Absent: the run goes on. */
  readonly openChildren?: readonly string[]
  /** Mail for the parent when the run ends. */
  readonly result?: string | undefined
  readonly dead?: string | undefined
  readonly spawns: readonly SpawnOrder[]
  readonly childrenAtOnce?: CommitRequest['childrenAtOnce']
  readonly sends: CommitRequest['sends']
  readonly timers: CommitRequest['timers']
  readonly asks: CommitRequest['asks']
  readonly withdraws: CommitRequest['withdraws']
  readonly cancels?: CommitRequest['cancels']
  /** Where the run stands after this step. */
  readonly position: RunPosition
  readonly notes: readonly EventNote[]
  /** Makes what is recorded instead if the store refuses this step. */
  readonly ifRefused?: (error: RuntimeError) => Step
  /** In place of `ifRefused`: if the store refuses this step it is dropped, this is called, and the behaviour goes on. It has waited for the answer. */
  readonly onDropped?: (error: RuntimeError) => void
}

/** What a run has used: the state and the costs of the step that records it. */
export type Used = Pick<Step, 'stateJson' | 'costs'>

export const emptyStep = (position: RunPosition): Step => ({
  entries: [],
  signalsConsumed: 0,
  inputsConsumed: 0,
  resultsConsumed: [],
  spawns: [],
  sends: [],
  timers: [],
  asks: [],
  withdraws: [],
  position,
  notes: [],
})

/** True if the step changes nothing but the worker's own state and history. */
export function changesOnlyItself({ outcome, spawns, sends, timers, asks }: Step): boolean {
  return outcome === undefined && spawns.length + sends.length + timers.length + asks.length === 0
}
