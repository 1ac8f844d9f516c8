/** Duty: what programs ask lists and histories with, and what each question may hold: a misspelt one would ask something else. */

import type { AuditProgress } from '../audit/audit.ts'
import { keyRule, type Rule, type Rules, signalRule, wholeNumberRule, yesOrNo } from '../core/check/check-options.ts'
import { type ListedState, listedStates } from './session-summary.ts'
import type { Dismissed, Redriven } from './summaries.ts'

export interface SessionsQuery {
  readonly state?: ListedState | undefined
  readonly kind?: string | undefined
  /** Default 50. */
  readonly limit?: number | undefined
  /** Id of the last session of the page before. */
  readonly before?: string | undefined
}

export interface WorkersQuery {
  readonly sessionId?: string | undefined
  /** Default 200. */
  readonly limit?: number | undefined
}

export interface PruneQuery {
  /** Sessions that ended longer ago than this, in ms. Default: 7 days. */
  readonly olderThanMs?: number | undefined
}

export interface DeadLettersQuery {
  readonly workerId?: string | undefined
  /** Default 100. */
  readonly limit?: number | undefined
}

/** One of the three; `workerId` and `letter` may be given together. */
export interface LettersQuery<Done> {
  readonly workerId?: string | undefined
  readonly letter?: string | undefined
  /** Those of all workers. */
  readonly all?: boolean | undefined
  /** Called with what became of each letter: of thousands it takes a while. */
  readonly onProgress?: ((done: Done) => void) | undefined
}

export type RedriveQuery = LettersQuery<Redriven>
export type DismissQuery = LettersQuery<Dismissed>

export interface AuditQuery {
  readonly sessionId?: string | undefined
  /** Called after each session that was looked at: of many, an audit may take minutes. */
  readonly onProgress?: ((progress: AuditProgress) => void) | undefined
}

export interface HistoryQuery {
  /** Entries behind this position. Default -1: from the first. */
  readonly after?: number | undefined
  /** Default 1 000. */
  readonly limit?: number | undefined
}

export interface MailboxQuery {
  /** Of each lane. Default 1 000. */
  readonly limit?: number | undefined
}

export interface ResultQuery {
  /** Number of the run, from 1. */
  readonly run?: number | undefined
  readonly signal?: AbortSignal | undefined
}

const count = wholeNumberRule(1, Number.MAX_SAFE_INTEGER)
const callback: Rule = { expects: 'a function', fits: (value) => typeof value === 'function' }
/** Whether it is one is told where it is looked up. */
const id: Rule = { expects: 'an id', fits: (value) => typeof value === 'string' }

export const sessionsRules: Rules<SessionsQuery> = {
  state: {
    expects: `one of ${listedStates.join(', ')}`,
    fits: (value) => listedStates.includes(value as ListedState),
  },
  kind: keyRule,
  limit: count,
  before: id,
}
export const workersRules: Rules<WorkersQuery> = { sessionId: id, limit: count }
export const pruneRules: Rules<PruneQuery> = { olderThanMs: wholeNumberRule(0, Number.MAX_SAFE_INTEGER) }
export const deadLettersRules: Rules<DeadLettersQuery> = { workerId: id, limit: count }
export const lettersRules: Rules<LettersQuery<never>> = {
  workerId: id,
  letter: keyRule,
  all: yesOrNo,
  onProgress: callback,
}
export const auditRules: Rules<AuditQuery> = {
  sessionId: id,
  onProgress: callback,
}
export const historyRules: Rules<HistoryQuery> = { after: wholeNumberRule(-1, Number.MAX_SAFE_INTEGER), limit: count }
export const mailboxRules: Rules<MailboxQuery> = { limit: count }
export const resultRules: Rules<ResultQuery> = { run: count, signal: signalRule }
