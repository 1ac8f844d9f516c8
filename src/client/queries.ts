/** Duty: the options of lists, histories and the like, with a check for each: a misspelt option would ask for something else. */

import type { AuditProgress } from '../audit/audit.ts'
import {
  keyRule,
  oneOfRule,
  type Rule,
  type Rules,
  signalRule,
  wholeNumberRule,
  yesOrNo,
} from '../core/check/check-options.ts'
import { type AskSort, type AskState, askSorts, askStates } from '../core/worker/ask/ask.ts'
import { type OnAway, onAwayRule } from './fleet/each-partition.ts'
import { type ListedState, listedStates } from './session/session-state.ts'
import type { Dismissed, Redriven } from './summaries.ts'

export interface SessionsQuery {
  readonly state?: ListedState | undefined
  readonly kind?: string | undefined
  /** Only sessions whose name contains this text, in capitals or not. */
  readonly name?: string | undefined
  /** Default 50. */
  readonly limit?: number | undefined
  /** The id of the last session of the page before. */
  readonly before?: string | undefined
  /** Called for each partition of a cluster that is away: the list is of the others then. Default: the call throws. */
  readonly onAway?: OnAway | undefined
}

export interface WorkersQuery {
  readonly sessionId?: string | undefined
  /** Default 200. */
  readonly limit?: number | undefined
  /** Called for each partition of a cluster that is away: the list is of the others then. Default: the call throws. */
  readonly onAway?: OnAway | undefined
}

export interface AsksQuery {
  /** Only those of this session. */
  readonly sessionId?: string | undefined
  /** Only questions to persons, or only signals of other systems. */
  readonly kind?: AskSort | undefined
  /** Only asks of workers of this kind. */
  readonly workerKind?: string | undefined
  /** Default: open. Other states only with `sessionId`. */
  readonly state?: AskState | 'any' | undefined
  /** Only asks that are older than this, in ms. */
  readonly olderThanMs?: number | undefined
  /** The id of the last ask of the page before. */
  readonly after?: string | undefined
  /** Default 50. */
  readonly limit?: number | undefined
  /** Called for each partition of a cluster that is away: the list is of the others then. Default: the call throws. */
  readonly onAway?: OnAway | undefined
}

export interface PoolsQuery {
  /** Called for each partition of a cluster that is away: the list is of the others then. Default: the call throws. */
  readonly onAway?: OnAway | undefined
}

export interface NodesQuery {
  /** Also nodes that were not seen for the time of a lease. */
  readonly stalled?: boolean | undefined
}

export interface PruneQuery {
  /** Removes sessions that ended longer ago than this, in ms. Default: 7 days. */
  readonly olderThanMs?: number | undefined
}

export interface DeadLettersQuery {
  readonly workerId?: string | undefined
  /** True: only letters that were neither put back nor dismissed. */
  readonly open?: boolean | undefined
  /** Default 100. */
  readonly limit?: number | undefined
  /** Called for each partition of a cluster that is away: the list is of the others then. Default: the call throws. */
  readonly onAway?: OnAway | undefined
}

/** One of the three must be set. `workerId` and `letter` may be set together. */
export interface LettersQuery<Done> {
  readonly workerId?: string | undefined
  readonly letter?: string | undefined
  /** Takes the letters of all workers. */
  readonly all?: boolean | undefined
  /** Called with the outcome of each letter, because thousands take a while. */
  readonly onProgress?: ((done: Done) => void) | undefined
}

export interface RedriveQuery extends LettersQuery<Redriven> {
  /**
   * Does not put a letter back, but begins a new session with its message, like the session of the letter (docs/operations.md says what it takes over).
   * The letter is then marked as dismissed. A letter of a child begins a job of the child's kind.
   */
  readonly newSession?: boolean | undefined
}
export type DismissQuery = LettersQuery<Dismissed>

export interface AuditQuery {
  readonly sessionId?: string | undefined
  /** Called after each session, because an audit of many takes minutes. */
  readonly onProgress?: ((progress: AuditProgress) => void) | undefined
  /**
   * Without the sessions that had ended before this time, in ms since 1970: they do not change any more. `last`: leaves out those that had ended
   * before the last recorded audit; if that had findings, or there was none, looks at all sessions.
   */
  readonly since?: number | 'last' | undefined
  /** Keeps how the audit ended for monitors: the metrics say it until the next recorded audit. Only for an audit of all sessions, or since "last". */
  readonly record?: boolean | undefined
}

export interface HistoryQuery {
  /** Returns entries after this position. Default -1: from the first entry on. */
  readonly after?: number | undefined
  /** No more than so many come at once; whoever wants the next ones names the last position. Default 1 000. */
  readonly limit?: number | undefined
}

export interface ContextQuery {
  /** A position in the history. Default: its end. */
  readonly at?: number | undefined
}

export interface MailboxQuery {
  /** How many messages of each lane. Default 1 000. */
  readonly limit?: number | undefined
}

export interface ResultQuery {
  /** The number of the run, counted from 1. */
  readonly run?: number | undefined
  readonly signal?: AbortSignal | undefined
}

const count = wholeNumberRule(1, Number.MAX_SAFE_INTEGER)
const callback: Rule = { expects: 'a function', fits: (value) => typeof value === 'function' }
/** Any text: the lookup says whether it is an id. */
const id: Rule = { expects: 'an id', fits: (value) => typeof value === 'string' }

export const sessionsRules: Rules<SessionsQuery> = {
  state: oneOfRule(listedStates),
  kind: keyRule,
  name: keyRule,
  limit: count,
  before: id,
  onAway: onAwayRule,
}
export const workersRules: Rules<WorkersQuery> = { sessionId: id, limit: count, onAway: onAwayRule }
export const poolsRules: Rules<PoolsQuery> = { onAway: onAwayRule }
export const asksRules: Rules<AsksQuery> = {
  sessionId: id,
  kind: oneOfRule(askSorts),
  workerKind: keyRule,
  state: oneOfRule([...askStates, 'any']),
  olderThanMs: wholeNumberRule(0, Number.MAX_SAFE_INTEGER),
  after: id,
  limit: wholeNumberRule(1, 10_000),
  onAway: onAwayRule,
}
export const nodesRules: Rules<NodesQuery> = { stalled: yesOrNo }
export const pruneRules: Rules<PruneQuery> = { olderThanMs: wholeNumberRule(0, Number.MAX_SAFE_INTEGER) }
export const deadLettersRules: Rules<DeadLettersQuery> = {
  workerId: id,
  open: yesOrNo,
  limit: count,
  onAway: onAwayRule,
}
export const lettersRules: Rules<LettersQuery<never>> = {
  workerId: id,
  letter: keyRule,
  all: yesOrNo,
  onProgress: callback,
}
export const redriveRules: Rules<RedriveQuery> = { ...lettersRules, newSession: yesOrNo }
export const auditRules: Rules<AuditQuery> = {
  sessionId: id,
  onProgress: callback,
  since: {
    expects: 'a time in ms since 1970, or "last"',
    fits: (value) => value === 'last' || (Number.isSafeInteger(value) && Number(value) >= 0),
  },
  record: yesOrNo,
}
export const positionRule = wholeNumberRule(0, Number.MAX_SAFE_INTEGER)
export const contextRules: Rules<ContextQuery> = { at: positionRule }
export const historyRules: Rules<HistoryQuery> = { after: wholeNumberRule(-1, Number.MAX_SAFE_INTEGER), limit: count }
export const mailboxRules: Rules<MailboxQuery> = { limit: count }
export const resultRules: Rules<ResultQuery> = { run: count, signal: signalRule }
