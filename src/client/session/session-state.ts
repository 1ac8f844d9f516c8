/** Duty: the states of a session. What a record means, session-summary.ts says. */

export type SessionState = 'active' | 'completed' | 'failed' | 'cancelling' | 'cancelled'
/** damaged: another program wrote over a key of the session, or over a field of its root's record. `report` names the key. */
export type ListedState = SessionState | 'damaged'
export const listedStates: readonly ListedState[] = [
  'active',
  'completed',
  'failed',
  'cancelling',
  'cancelled',
  'damaged',
]
