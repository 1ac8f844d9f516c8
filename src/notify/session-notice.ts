/** Duty: write what is told of a session that has ended: the data of the job, and the body of the request. */
import type { Failure } from '../core/worker/run/failure.ts'

export interface SessionNotice {
  readonly type: 'session.completed' | 'session.failed' | 'session.cancelled'
  /** When the session ended, as ISO 8601 has it. */
  readonly timestamp: string
  readonly data: {
    readonly sessionId: string
    readonly name: string
    readonly kind: string
    /** The run that ended the session; null if no run did. */
    readonly run: number | null
    /** The result of a session that completed. */
    readonly value?: unknown
    readonly failure?: Failure
    readonly costMicroUsd?: number
  }
}

/**
 * The same id for the same end of the same session, so that a notice that is sent twice counts once. A run that is retried keeps its number, and ends
 * once more: so the number of retries tells its ends apart.
 */
export function noticeId({ data: { sessionId, run } }: SessionNotice, retries: number): string {
  const id = `${sessionId}-${run ?? 0}`
  return retries === 0 ? id : `${id}-${retries}`
}
