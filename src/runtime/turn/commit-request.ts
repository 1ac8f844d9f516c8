/** Duty: the request of one commit, as the store takes it: its step, its place in the turn, and how the turn ends with it. */
import { encodeEvents } from '../../core/event/event-notes.ts'
import type { Assignment, CommitRequest, SlotNext } from '../../core/ports/ports.ts'
import { encodeWait } from '../../core/worker/wait.ts'
import type { Step } from './step.ts'
import type { SlotPlan } from './turn-host.ts'
import type { TurnEnd } from './turn-state.ts'

/** What a commit says beside its step. */
interface CommitHead {
  readonly sequence: number
  readonly version: number
  readonly wakeup: string
  /** The turn ends with it, and the slot then does this. */
  readonly ending?: { readonly end: TurnEnd; readonly plan: SlotPlan } | undefined
}

/** One commit, as the store takes it. */
export function requestOf(
  { workerId, pool, token, resultsSeen }: Assignment,
  { position, notes, pendingCount = position.pendingCalls.length, ...step }: Step,
  { sequence, version, wakeup, ending }: CommitHead,
): CommitRequest {
  const { runState, open, attempt, retrying, pendingCalls, signalsOpen } = position
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
    pendingCount,
    signalsOpen,
    entries,
    signalsConsumed,
    inputsConsumed,
    resultsConsumed,
    resultsSeen,
    stateJson,
    failure,
    outcome,
    result,
    dead,
    spawns: step.spawns,
    sends: step.sends,
    timers: step.timers,
    asks: step.asks,
    event: notes.length > 0 ? encodeEvents(notes) : '',
    wakeup,
    offer: plan?.kind === 'stay' ? plan.children : undefined,
    end: ending && { ...ending.end, wait: encodeWait(ending.end.wait), next: nextOf(ending.plan) },
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
