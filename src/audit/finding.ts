/** Duty: what an audit found broken: which invariant of docs/protocol.md, of which worker or session, in words. */

export interface AuditFinding {
  /** `I1` to `I17`, or `key`: what is stored there is not of the sort it should be. */
  readonly invariant: string
  /** The rule in one word, the same for each look at the same thing. */
  readonly rule: string
  readonly sessionId: string | null
  readonly workerId: string | null
  /** What is so, with ids. */
  readonly what: string
}

/** A finding, and the workers that must be looked at together to see it again. */
export interface Suspicion extends AuditFinding {
  readonly involved: readonly string[]
}

/** The same suspicion has the same name, whatever its words say. */
export function nameOf({ invariant, rule, sessionId, workerId, involved }: Suspicion): string {
  return [invariant, rule, sessionId, workerId, ...involved].join(' ')
}

export function toFinding({ invariant, rule, sessionId, workerId, what }: Suspicion): AuditFinding {
  return { invariant, rule, sessionId, workerId, what }
}

export type Say = (invariant: string, rule: string, what: string, involved?: readonly string[]) => void

/** Keys and fields that somebody wrote over, of a worker, a session, or a whole partition. */
export function damaged(keys: readonly string[], sessionId: string | null, workerId: string | null): Suspicion[] {
  if (keys.length === 0) return []
  const involved = workerId === null ? [] : [workerId]
  return [{ invariant: 'key', rule: 'damaged', sessionId, workerId, what: keys.join('; '), involved }]
}

/** Collects suspicions of one worker. */
export function sayOf(found: Suspicion[], sessionId: string, workerId: string | null): Say {
  return (invariant, rule, what, involved = workerId === null ? [] : [workerId]) => {
    found.push({ invariant, rule, sessionId, workerId, what, involved })
  }
}
