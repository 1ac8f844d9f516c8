/** Duty: the form of a finding of the audit: the invariant of docs/protocol.md that is broken, the worker or session, and a sentence. */

import { preview } from '../core/check/preview.ts'
import { isId } from '../core/ids.ts'

export interface AuditFinding {
  /** `I1` to `I18`; or `key`, if another program wrote over a key or a field. */
  readonly invariant: string
  /** A word for the rule. It is the same each time that the audit looks at the same fault. */
  readonly rule: string
  readonly sessionId: string | null
  readonly workerId: string | null
  /** What is wrong, with ids. */
  readonly what: string
}

/** It says that a message is lost, doubled or in no known place. */
export function isOfMessages({ invariant }: AuditFinding): boolean {
  return ['I1', 'I2', 'I16'].includes(invariant)
}

/** A finding that is not sure yet, and the workers that must be read together to see it again. */
export interface Suspicion extends AuditFinding {
  readonly involved: readonly string[]
}

/** Two looks at the same fault give the same name, even if their sentences differ. */
export function nameOf({ invariant, rule, sessionId, workerId, involved }: Suspicion): string {
  return [invariant, rule, sessionId, workerId, ...involved].join(' ')
}

export function toFinding({ invariant, rule, sessionId, workerId, what }: Suspicion): AuditFinding {
  return { invariant, rule, sessionId, workerId, what }
}

export type Say = (invariant: string, rule: string, what: string, involved?: readonly string[]) => void

/** Keys and fields of a worker, a session or a whole partition that another program wrote over. */
export function damaged(keys: readonly string[], sessionId: string | null, workerId: string | null): Suspicion[] {
  if (keys.length === 0) return []
  const involved = workerId === null ? [] : [workerId]
  return [{ invariant: 'key', rule: 'damaged', sessionId, workerId, what: keys.join('; '), involved }]
}

/** Collects suspicions about one worker. */
export function sayOf(found: Suspicion[], sessionId: string, workerId: string | null): Say {
  return (invariant, rule, what, involved = workerId === null ? [] : [workerId]) => {
    found.push({ invariant, rule, sessionId, workerId, what, involved })
  }
}

/** An id in a sentence. Another program may have written anything in place of an id: that is quoted. */
export function idText(id: string): string {
  return isId(id) ? id : preview(id)
}
