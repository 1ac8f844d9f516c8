/**
 * Duty: the record that a worker has in a copy of its session.
 * FORKED-RECORD-1 A worker that runs is queued in the copy, from its last commit on, as after a crash. The start is not held against it.
 * FORKED-RECORD-2 A run that is in progress holds no place at a gate in the copy: it goes on there. One that waits at a gate begins to wait anew.
 * FORKED-RECORD-3 A field that is not named here is the same in the copy.
 */
import type { ForkedIds } from '../../core/fork/forked-ids.ts'
import { defaultPool } from '../../core/ids.ts'
import type { RecordFields } from '../script/replies.ts'
import { permissionsName } from './kept-permissions.ts'
import { epochIn } from './worker-record.ts'

/** What only the copy says, about itself. */
export interface ForkNote {
  /** The session that it is a copy of, and when it was made. */
  readonly from: string
  readonly at: number
  readonly isDryRun: boolean
}

export interface ForkedRecord {
  readonly fields: RecordFields
  /** The pool in whose run queue the worker stands; null if it is not queued. */
  readonly queued: string | null
  /** The text of its permissions, if its session keeps them. */
  readonly permissions: string | null
}

/** Fields that only the original keeps: where its result goes, its wake-ups, its places in run queues and at gates, and what its last node said. */
const left = /^(wakeups|startWakeups|token|lastWords|queuedAt|gates|gateNumbers|score(:.*)?|resting|endFrom|notify)$/

export function forkedRecord(fields: RecordFields, ids: ForkedIds, { from, at, isDryRun }: ForkNote): ForkedRecord {
  const { status, token = '', wait, permissions, runPermissions, retried, path1 } = fields
  const copy: Record<string, string> = {}
  for (const [name, value] of Object.entries(fields)) if (!left.test(name)) copy[name] = elementOf(name, value, ids)
  const isRunning = status === 'running'
  if (isRunning) copy.status = 'queued'
  if (status === 'parked' && wait === 'gate') Object.assign(copy, { status: 'queued', wait: 'any' })
  const epoch = epochIn(token) - (isRunning ? 1 : 0)
  if (epoch > 0) copy.token = `${epoch}:`
  const [, child] = /^result:(.+)$/.exec(wait ?? '') ?? []
  if (child !== undefined) copy.wait = `result:${ids.worker(child)}`
  const text = permissions === undefined ? null : ids.permissions(permissions)
  if (text !== null) copy.permissions = permissionsName(text)
  if (runPermissions !== undefined) copy.runPermissions = ids.permissions(runPermissions)
  if (retried !== undefined) copy.retried = `${retried.split(' ')[0]} - `
  copy.copied = isDryRun ? 'dry' : '1'
  if (path1 === undefined) copy.forkedFrom = `${from} ${at}`
  return {
    fields: copy,
    queued: copy.status === 'queued' ? (fields.pool ?? defaultPool) : null,
    permissions: text === copy.permissions ? null : text,
  }
}

/** An element of a path is `<worker>:<run>`. */
function elementOf(name: string, value: string, ids: ForkedIds): string {
  if (!/^path\d+$/.test(name)) return value
  const end = value.indexOf(':')
  return ids.worker(value.slice(0, end)) + value.slice(end)
}
