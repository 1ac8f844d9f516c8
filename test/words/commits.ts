/** Events of commits as a follower receives them, and the roster that has noted them. */
import { Roster } from '../../src/client/event/activity.ts'
import type { EventType, RawEvent } from '../../src/core/event/event.ts'
import type { Failure } from '../../src/core/worker/run/failure.ts'

export const at = new Date(2026, 10, 21, 12, 0, 1).getTime()
export const failure: Failure = {
  code: 'handler_failed',
  message: 'no\u001b[31m luck',
  origin: 'handler',
  at,
  attempt: 2,
  retryable: true,
}

let ids = 0

type Note = EventType | [EventType, Record<string, unknown>]

/** The events of one commit of a worker. */
export function commit(workerId: string, ...notes: Note[]): RawEvent[] {
  return batch([workerId, ...notes])
}

/** The events of commits of several workers that were stored together. */
export function batch(...commits: [workerId: string, ...notes: Note[]][]): RawEvent[] {
  const id = `${at}-${ids++}`
  return commits.flatMap(([workerId, ...notes]) =>
    notes.map((note) => {
      const [type, details] = typeof note === 'string' ? [note, {}] : note
      return { id, type, sessionId: 's', workerId, at, details }
    }),
  )
}

export const created = commit('root', ['session.created', { kind: 'surveyor', name: 'surveyor', mode: 'job' }])
export const spawning = commit(
  'root',
  ['run.started', { run: 1 }],
  ['worker.spawned', { id: 'a', kind: 'reader', name: 'docs' }],
  ['worker.spawned', { id: 'b', kind: 'reader', name: 'reader 2' }],
)

export function rosterAfter(...commits: RawEvent[][]): Roster {
  const roster = new Roster()
  for (const event of commits.flat()) roster.note(event)
  return roster
}
