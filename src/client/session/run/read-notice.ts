/** Duty: read the end of a session for its notice. */
import { noticeId, type SessionNotice } from '../../../notify/session-notice.ts'
import type { InspectStore } from '../../../store/audit/inspect-store.ts'
import type { SessionRecord } from '../../../store/record/session-record.ts'
import { readStoredResult } from './stored-result.ts'

export interface ReadEnd {
  readonly session: SessionRecord
  readonly at: number
  /** The same id for the same end. */
  readonly id: string
  readonly notice: SessionNotice
}

/** Null if the session is gone, or goes on again, also while it is read: then no notice is sent. */
export async function readEnd(store: InspectStore, sessionId: string): Promise<ReadEnd | null> {
  const session = await endedSession(store, sessionId)
  if (session === null) return null
  const { kind, name, cost, retries } = session
  const { status, at, result: recorded } = session.end
  const isStillRecorded = async () =>
    (await endedSession(store, sessionId))?.end.result?.position === recorded?.position
  const result = recorded === null ? null : await readStoredResult(store, { sessionId, ...recorded }, isStillRecorded)
  if (result === undefined) return null
  const notice: SessionNotice = {
    type: `session.${status}`,
    timestamp: new Date(at).toISOString(),
    data: {
      sessionId,
      name,
      kind,
      run: recorded?.run ?? null,
      ...(result?.status === 'completed' && { value: result.value }),
      ...(result?.status === 'failed' && { failure: result.failure }),
      ...(cost !== null && { costMicroUsd: cost.costMicroUsd }),
    },
  }
  return { session, at, id: noticeId(notice, retries), notice }
}

type EndedSession = SessionRecord & { readonly end: NonNullable<SessionRecord['end']> }

async function endedSession(store: InspectStore, sessionId: string): Promise<EndedSession | null> {
  const session = (await store.session(sessionId))?.session
  return session?.end ? (session as EndedSession) : null
}
