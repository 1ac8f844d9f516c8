/** Duty: the states of a turn, what belongs to each, and which may follow which (TURN-2). Only turn.ts sets them. */
import type { TurnWait } from '../../core/worker/wait.ts'

/** What the worker waits for after the turn, or that it goes on; `retryMs`: how long it waits, if it waits for its retry. */
export interface TurnEnd {
  readonly wait: TurnWait
  readonly retryMs?: number
  /** The turn is released and recorded nothing: its start does not count. */
  readonly isUncounted?: boolean
}

/**
 * ended: the ending commit was recorded. waits: the run waits at a gate, and nothing was begun. With the others the node gave the turn up, and the
 * worker goes on elsewhere.
 */
export type TurnOver = 'ended' | 'waits' | 'fenced' | 'stale' | 'unreachable' | 'blocked'

/** The part of a turn that outlives it. Final once `over` is set. */
export interface TurnOutcome {
  readonly over: TurnOver | undefined
  /** The turn was cancelled, or its node stopped. */
  readonly aborted: boolean
  /** Id of its last commit, and the version of the record after it. */
  readonly commitId: string
  readonly version: number
}

export type TurnState =
  | { readonly kind: 'running' }
  /** The node drains, or the session is paused: the behaviour ends the turn after the step in hand. */
  | { readonly kind: 'draining' }
  /** The turn takes no more steps; the steps that wait are committed with this end. */
  | { readonly kind: 'ending'; readonly end: TurnEnd }
  /** The run was cancelled: only the step that records this is still committed. */
  | { readonly kind: 'cancelling' }
  | { readonly kind: 'over'; readonly outcome: TurnOutcome }

const transitions: { readonly [Kind in TurnState['kind']]: readonly TurnState['kind'][] } = {
  running: ['draining', 'ending', 'cancelling', 'over'],
  draining: ['ending', 'cancelling', 'over'],
  // The turn gets another end if its last step was refused and the run fails.
  ending: ['ending', 'cancelling', 'over'],
  cancelling: ['over'],
  over: [],
}

export function mayBecome(from: TurnState, to: TurnState): boolean {
  return transitions[from.kind].includes(to.kind)
}
