/** Duty: a line of a worker's log that came as an event: `12:00:01  reader docs  info  read 12 files  bytes=5120`. */
import type { Roster } from '../../../client/event/activity.ts'
import type { RawEvent } from '../../../core/event/event.ts'
import { lineBesideEvents, logLevels } from './log-line.ts'

export function workerLogLine(
  { type, at, sessionId, workerId, details }: RawEvent,
  roster: Roster,
): string | undefined {
  if (type !== 'worker.logged') return undefined
  const level = logLevels.find((known) => known === details.level)
  if (level === undefined) return undefined
  const fields = typeof details.fields === 'object' ? details.fields : {}
  const record = { at, level, message: details.message, fields: { session: sessionId, worker: workerId, ...fields } }
  return lineBesideEvents(record, (id) => roster.labelOf(id))
}
