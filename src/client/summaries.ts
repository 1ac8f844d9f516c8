/** Duty: the rows that lists are made of: sessions, kinds, nodes, dead letters. */
import type { ErrorCode } from '../core/errors.ts'
import type { Message } from '../core/worker/message.ts'
import type { SessionReport } from './report.ts'
import type { ListedState } from './session-summary.ts'

export type ListedSession = Pick<SessionReport, 'id' | 'name' | 'kind' | 'mode' | 'createdAt' | 'finishedAt'> & {
  readonly state: ListedState
  readonly workers: number
}

export interface KindSummary {
  readonly kind: string
  readonly pool: string
  readonly description: string
  /** Live nodes that host it. */
  readonly nodes: number
  readonly hosted: boolean
}

export interface NodeSummary {
  readonly id: string
  readonly lastSeenMs: number
  readonly slots: number
  readonly pools: readonly string[]
  readonly kinds: readonly string[]
  readonly pid: number | null
  readonly host: string | null
}

/** What took its node down again and again, and was put aside. */
export interface DeadLetter {
  readonly id: string
  readonly sessionId: string
  readonly workerId: string
  /** The input that was put aside; null when a step within a run was what killed: the failed run's history holds its input. */
  readonly message: Message | null
  /** The message or the recorded step that was next each time, in words. */
  readonly killedBy: string
  /** Id of the message in the mailbox it was put back to; null when it was not. */
  readonly redrivenAs: string | null
  /** Somebody said that it is dealt with. */
  readonly dismissed: boolean
  readonly evidence: Readonly<Record<string, unknown>>
}

/** Where a message that was sent stands. */
export interface Sent {
  /** Among all inputs that the worker ever accepted, from 0. */
  readonly position: number
  /**
   * Its idempotency key was used before: this is the place of the message that was sent then, and nothing was added. That message may
   * be this very one, where Redis went away before it answered and was asked again.
   */
  readonly again: boolean
  /** What is amiss though nothing failed: its key was used before, and whether for something else; null when nothing is. */
  readonly warning: string | null
}

/** What became of a dead letter that was to be put back, or dismissed. */
interface Handled {
  readonly letterId: string
  readonly workerId: string
  readonly refusal: { readonly code: ErrorCode; readonly message: string } | null
}

export interface Redriven extends Handled {
  /** again: it was put back before. */
  readonly status: 'redriven' | 'again' | 'refused'
  /** Its id in the mailbox; null when it was refused. */
  readonly messageId: string | null
}

export interface Dismissed extends Handled {
  /** again: it was dismissed before. */
  readonly status: 'dismissed' | 'again' | 'refused'
}
