/**
 * Duty: a step: what one message changed, as data, before it is committed; and how several steps become one.
 */
import type { RuntimeError } from '../../core/errors.ts'
import type { EventNote } from '../../core/event/event.ts'
import { policy } from '../../core/policy.ts'
import type { CommitRequest, RunPosition, SpawnOrder } from '../../core/ports/ports.ts'
import type { Failure } from '../../core/worker/failure.ts'

export interface Step {
  readonly entries: readonly string[]
  readonly signalsConsumed: number
  readonly inputsConsumed: number
  readonly resultsConsumed: readonly number[]
  readonly stateJson?: string | undefined
  readonly failure?: Failure | null | undefined
  readonly outcome?: CommitRequest['outcome']
  /** How many results were still to come when the run ended. */
  readonly pendingCount?: number
  /** Mail for the parent when the run ends. */
  readonly result?: string | undefined
  readonly dead?: string | undefined
  readonly spawns: readonly SpawnOrder[]
  readonly sends: CommitRequest['sends']
  readonly timers: CommitRequest['timers']
  readonly asks: CommitRequest['asks']
  /** Where the run stands after this step. */
  readonly position: RunPosition
  readonly notes: readonly EventNote[]
  /** What is recorded instead when the store refuses this step. */
  readonly refused?: (error: RuntimeError) => Step
  /** Or: the step is dropped, this hears why, and the behaviour goes on. It has waited for the answer. */
  readonly declined?: (error: RuntimeError) => void
}

export const emptyStep = (position: RunPosition): Step => ({
  entries: [],
  signalsConsumed: 0,
  inputsConsumed: 0,
  resultsConsumed: [],
  spawns: [],
  sends: [],
  timers: [],
  asks: [],
  position,
  notes: [],
})

const batchSteps = 50
const batchBytes = 4_194_304

/** STEP-1: how many of these steps may go into one commit: up to the first that ends a run, within the limits. At least one. */
export function batchLength(steps: readonly Step[]): number {
  let bytes = 0
  let parts = 0
  for (const [index, step] of steps.entries()) {
    bytes += stepBytes(step)
    parts += step.spawns.length + step.sends.length + step.timers.length + step.asks.length
    if (index > 0 && (bytes > batchBytes || parts > policy.stepPartsMax)) return index
    if (step.outcome !== undefined || index + 1 === batchSteps) return index + 1
  }
  return steps.length
}

function stepBytes(step: Step): number {
  let bytes = (step.stateJson?.length ?? 0) + (step.result?.length ?? 0)
  for (const entry of step.entries) bytes += entry.length
  for (const spawn of step.spawns) bytes += spawn.mail.length
  for (const send of step.sends) bytes += send.mail.length
  for (const timer of step.timers) bytes += timer.valueJson.length
  for (const ask of step.asks) bytes += ask.body.length + (ask.expiry?.answer.length ?? 0)
  return bytes
}

export function mergeSteps(steps: readonly Step[]): Step {
  if (steps.length === 1) return steps[0] as Step
  let { entries, signalsConsumed, inputsConsumed, resultsConsumed, stateJson, failure, spawns, sends, timers, asks, notes } =
    steps[0] as Step
  for (let index = 1; index < steps.length; index++) {
    const step = steps[index] as Step
    entries = joined(entries, step.entries)
    signalsConsumed += step.signalsConsumed
    inputsConsumed += step.inputsConsumed
    resultsConsumed = joined(resultsConsumed, step.resultsConsumed)
    stateJson = step.stateJson ?? stateJson
    failure = step.failure === undefined ? failure : step.failure
    spawns = joined(spawns, step.spawns)
    sends = joined(sends, step.sends)
    timers = joined(timers, step.timers)
    asks = joined(asks, step.asks)
    notes = joined(notes, step.notes)
  }
  const last = steps.at(-1) as Step
  return {
    ...last,
    entries,
    signalsConsumed,
    inputsConsumed,
    resultsConsumed,
    stateJson,
    failure,
    spawns,
    sends,
    timers,
    asks,
    notes,
  }
}

/** Most lists are empty. */
function joined<Item>(before: readonly Item[], after: readonly Item[]): readonly Item[] {
  if (after.length === 0) return before
  return before.length === 0 ? after : [...before, ...after]
}
