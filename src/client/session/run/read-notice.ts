/** Duty: read the end of a session for its notice. */
import { decodeEntry } from '../../../core/history/entry.ts'
import { rootIdOf } from '../../../core/ids.ts'
import { noticeId, type SessionNotice } from '../../../notify/session-notice.ts'
import type { InspectStore } from '../../../store/audit/inspect-store.ts'
import type { SessionRecord } from '../../../store/record/session-record.ts'
import { resultOf } from './result-of.ts'

export interface ReadEnd {
  readonly session: SessionRecord
  readonly at: number
  /** The same id for the same end. */
  readonly id: string
  readonly notice: SessionNotice
}

/** Null if the session is gone, or goes on again: then no notice is sent. */
export async function readEnd(store: InspectStore, sessionId: string): Promise<ReadEnd | null> {
  const session = (await store.session(sessionId))?.session
  if (session === undefined || session.end === null) return null
  const { kind, name, cost, retries } = session
  const { status, at, result } = session.end
  const what = result === null ? {} : await resultAt(store, sessionId, result)
  const notice: SessionNotice = {
    type: `session.${status}`,
    timestamp: new Date(at).toISOString(),
    data: {
      sessionId,
      name,
      kind,
      run: result?.run ?? null,
      ...what,
      ...(cost !== null && { costMicroUsd: cost.costMicroUsd }),
    },
  }
  return { session, at, id: noticeId(notice, retries), notice }
}

async function resultAt(
  store: InspectStore,
  sessionId: string,
  { run, status, position }: { readonly run: number; readonly status: SessionStatus; readonly position: number },
): Promise<Pick<SessionNotice['data'], 'value' | 'failure'>> {
  const root = rootIdOf(sessionId)
  const json = await store.entryAt(root, position)
  const place = `entry ${position} of the history of worker ${root}`
  const result = resultOf(json === null ? null : decodeEntry(json), status, run, place)
  if (result.status === 'completed') return { value: result.value }
  return result.status === 'failed' ? { failure: result.failure } : {}
}

type SessionStatus = 'completed' | 'failed' | 'cancelled'
