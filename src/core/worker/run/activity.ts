/**
 * Duty: what a worker does, in one word for people. Lists, the live tree and events in lines all use these words.
 * ACTWORD-1 A worker has exactly one activity. It is derived, and never stored.
 * ACTWORD-2 No other module turns a state of a worker into a word for people. The states of the design (run-state.ts) are for programs.
 */
import { type FineState, fineState, type RunFacts } from './run-state.ts'

export const activities = [
  /** It waits for a free slot. */
  'queued',
  'working',
  /** Its model has been asked, and has said nothing yet. */
  'thinking',
  /** Its model speaks. */
  'answering',
  'using a tool',
  'waiting',
  'paused',
  'done',
  'failed',
  'cancelled',
  /** Its run ended because it took down the nodes that ran it. Its message is a dead letter. */
  'put aside',
] as const
export type Activity = (typeof activities)[number]

export interface ActivityFacts extends RunFacts {
  /** True if it has ever begun a run. */
  readonly hasBegun: boolean
  readonly wasCancelled: boolean
  /** The code of the worker's last failure. */
  readonly failureCode: string | undefined
}

const ofFineState: Readonly<Record<FineState, Activity>> = {
  inactive: 'done',
  working: 'working',
  requesting: 'thinking',
  receiving: 'answering',
  waiting: 'waiting',
  usingTool: 'using a tool',
  inactiveFailed: 'failed',
}

export function activityOf(facts: ActivityFacts): Activity {
  if (facts.worker === 'queued' || facts.worker === 'paused') return facts.worker
  const activity = activityOfState(fineState(facts))
  if (activity === 'failed') return activityOfFailure(facts.failureCode)
  if (activity !== 'done') return activity
  if (facts.wasCancelled) return 'cancelled'
  return facts.hasBegun ? 'done' : 'waiting'
}

/** The activity of a worker of which only the fine state is known. */
export function activityOfState(state: FineState): Activity {
  return ofFineState[state]
}

export function activityOfFailure(code: unknown): Activity {
  return code === 'poison' ? 'put aside' : 'failed'
}

/** True if a slot works on it now. */
export function isActive(activity: Activity): boolean {
  return activity === 'working' || activity === 'thinking' || activity === 'answering' || activity === 'using a tool'
}

/** True if its last run has ended. */
export function isOver(activity: Activity | undefined): boolean {
  return activity === 'done' || activity === 'failed' || activity === 'cancelled' || activity === 'put aside'
}
