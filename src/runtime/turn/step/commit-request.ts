/**
 * Duty: make of the steps of one commit the request that the store takes.
 * Does not own: which steps go into one commit (step-queue.ts), and the form in which Redis takes it (store/turn/commit-args.ts).
 */
import { encodeEvents } from '../../../core/event/event-notes.ts'
import type { Assignment, CommitRequest, SlotNext } from '../../../core/ports/ports.ts'
import { encodeWait } from '../../../core/worker/wait.ts'
import type { SlotPlan } from '../turn-host.ts'
import type { TurnEnd } from '../turn-state.ts'
import type { Step } from './step.ts'

/** Makes one step of all steps of a commit. */
export function mergeSteps(steps: readonly Step[]): Step {
  return steps.reduce((before, step) => ({
    ...step,
    entries: joined(before.entries, step.entries),
    signalsConsumed: before.signalsConsumed + step.signalsConsumed,
    inputsConsumed: before.inputsConsumed + step.inputsConsumed,
    resultsConsumed: joined(before.resultsConsumed, step.resultsConsumed),
    steersTaken: before.steersTaken ? joined(before.steersTaken, step.steersTaken ?? []) : step.steersTaken,
    stateJson: step.stateJson ?? before.stateJson,
    configured: step.configured ?? before.configured,
    costs: before.costs ? joined(before.costs, step.costs ?? []) : step.costs,
    failure: step.failure === undefined ? before.failure : step.failure,
    spawns: joined(before.spawns, step.spawns),
    childrenAtOnce: step.childrenAtOnce ?? before.childrenAtOnce,
    sends: joined(before.sends, step.sends),
    timers: joined(before.timers, step.timers),
    asks: joined(before.asks, step.asks),
    withdraws: joined(before.withdraws, step.withdraws),
    cancels: before.cancels ? joined(before.cancels, step.cancels ?? []) : step.cancels,
    notes: joined(before.notes, step.notes),
  }))
}

/** Most lists are empty. */
function joined<Item>(before: readonly Item[], after: readonly Item[]): readonly Item[] {
  if (after.length === 0) return before
  return before.length === 0 ? after : [...before, ...after]
}

/** What a commit says in addition to its step. */
interface CommitHead {
  readonly sequence: number
  readonly version: number
  readonly wakeup: string
  /** The turn has not seen inputs from this position on that steer its run. */
  readonly steersUnseenFrom?: number | undefined
  /** Set if the turn ends with this commit: how it ends, and what the slot does then. */
  readonly ending?: { readonly end: TurnEnd; readonly plan: SlotPlan; readonly turnMs: number } | undefined
}

/** Makes the request of one commit, in the form that the store takes. */
export function requestOf(
  { workerId, pool, token, resultsSeen, largeResults, suspect }: Assignment,
  { position, notes, openChildren, ...step }: Step,
  { sequence, version, wakeup, steersUnseenFrom, ending }: CommitHead,
): CommitRequest {
  const { runState, open, attempt, retrying, pendingCalls, signalsOpen, steps } = position
  const { entries, signalsConsumed, inputsConsumed, resultsConsumed, stateJson, failure, outcome, result, dead } = step
  const plan = ending?.plan
  return {
    workerId,
    pool,
    token,
    sequence,
    version,
    runState,
    open,
    attempt,
    retrying,
    pendingCalls,
    pendingCount: (openChildren ?? position.pendingCalls).length,
    openChildren,
    signalsOpen,
    steps,
    entries,
    signalsConsumed,
    inputsConsumed,
    resultsConsumed,
    largeTaken: largeResults && resultsConsumed.flatMap((position) => largeResults.get(position) ?? []),
    resultsSeen,
    steersTaken: step.steersTaken,
    steersUnseenFrom: ending && steersUnseenFrom,
    stateJson,
    configured: step.configured,
    costs: step.costs,
    failure,
    outcome,
    result,
    dead,
    spawns: step.spawns,
    childrenAtOnce: step.childrenAtOnce,
    sends: step.sends,
    timers: step.timers,
    asks: step.asks,
    withdraws: step.withdraws,
    cancels: step.cancels,
    event: notes.length > 0 ? encodeEvents(notes) : '',
    wakeup,
    offer: plan?.kind === 'stay' ? plan.children : undefined,
    end: ending && {
      ...ending.end,
      wait: encodeWait(ending.end.wait),
      isIsolated: suspect,
      next: nextOf(ending.plan),
      turnMs: ending.turnMs,
    },
    wasBusy: plan !== undefined && wasBusy(plan),
  }
}

function nextOf(plan: SlotPlan): SlotNext {
  if (plan.kind === 'claim') return plan.claim
  return plan.kind === 'stay' ? 'stay' : null
}

function wasBusy(plan: SlotPlan): boolean {
  if (plan.kind === 'claim') return plan.claim.wasBusy
  return plan.kind === 'leave' && plan.wasBusy
}
