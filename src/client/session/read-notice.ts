/** Duty: read where the result of a session goes, and what is told there. */
import { decodeEntry } from '../../core/history/entry.ts'
import { rootIdOf } from '../../core/ids.ts'
import type { Notify } from '../../core/worker/notify.ts'
import type { SessionNotice } from '../../notify/session-notice.ts'
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import { resultOf } from './result-of.ts'

/** Null if the session is gone, goes on again, or says nothing of it any more: then nothing is told. */
export async function readNotice(
  store: InspectStore,
  sessionId: string,
): Promise<{ readonly notify: Notify; readonly notice: SessionNotice } | null> {
  const row = await store.session(sessionId)
  const { notify, end, kind, name, cost } = row?.session ?? { notify: null, end: null }
  if (notify === null || end === null) return null
  const { status, at, result } = end
  const what = result === null ? {} : await resultAt(store, sessionId, result)
  return {
    notify,
    notice: {
      type: `session.${status}`,
      timestamp: new Date(at).toISOString(),
      data: {
        sessionId,
        name: name as string,
        kind: kind as string,
        run: result?.run ?? null,
        ...what,
        ...(cost != null && { costMicroUsd: cost.costMicroUsd }),
      },
    },
  }
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
