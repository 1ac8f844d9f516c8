/**
 * Duty: the record of a worker as an object: one table of all its fields, with the value that an absent one stands for.
 * Owns: names, defaults, forms and meaning of the fields. Does not own: which of them a script writes (lua/shared/records.lua has the same
 * defaults for scripts; a test compares them).
 * RECORD-1 A record keeps only what differs from the start: an absent field has the value of the table.
 * RECORD-2 Nothing else in TypeScript spells a default of a record, or parses one of its fields.
 * RECORD-3 A field that another program wrote over is named (`damage`), and read as if it were absent.
 */
import { defaultName } from '../../core/definition/worker-name.ts'
import { defaultPool, idLength, sessionIdOfRoot } from '../../core/ids.ts'
import { decodeLimits, defaultWorkerLimits, encodeLimits, hardSessionLimits } from '../../core/policy.ts'
import type { Lane } from '../../core/worker/message.ts'
import { decodePermissions, isPermissionsText, type Permissions } from '../../core/worker/permissions.ts'
import { decodeRunState, runStates, type WorkerState, workerStates } from '../../core/worker/run-state.ts'
import { decodeWait, forAny } from '../../core/worker/wait.ts'
import type { RecordFields } from '../script/replies.ts'
import { decodeCalls } from './call-ranges.ts'
import {
  anyText,
  counter,
  type Decoded,
  damageIn,
  decodeFields,
  type FieldDamage,
  flag,
  oneOf,
  optional,
  required,
  wholeNumber,
  withDefault,
} from './field.ts'

export type WorkerMode = 'job' | 'conversation'

const text = (value: string) => value

/** How often a worker was claimed stands in front of a token, and of the id of a commit. */
export const epochIn = (token: string) => Number(token.slice(0, token.indexOf(':')) || 0)

/** The last commit, and how many there were. */
export interface LastCommit {
  /** `<token>:<sequence>`; empty before the first commit. */
  readonly id: string
  readonly version: number
}

const noCommit: LastCommit = { id: '', version: 0 }

const runStateForm = { test: (value: string) => runStates.includes(decodeRunState(value).run) }

/** Property to field. A path (`path1`, `path2`, …) has a field for each element and is read by `readPath`. */
export const workerFields = {
  kind: required('kind', /./s, '', text),
  /** Where the worker stands with the store. */
  status: required<WorkerState>('status', oneOf(workerStates), 'idle', (value) => value as WorkerState),
  givenName: optional('name', anyText, text),
  mode: withDefault<WorkerMode>('mode', 'job', oneOf(['job', 'conversation']), (value) => value as WorkerMode),
  pool: withDefault('pool', defaultPool, anyText, text),
  depth: counter('depth'),
  /** The number of the call that spawned it. */
  call: optional('call', wholeNumber, Number),
  limits: withDefault('limits', encodeLimits(defaultWorkerLimits), /^\d+ \d+ \d+ \d+$/, decodeLimits),
  /** What it may use; null: nothing restricts that. */
  permissions: optional('permissions', { test: isPermissionsText }, readPermissions),
  /** `<epoch>:<nonce>` while a slot holds the worker, `<epoch>:` after a lease that ended, empty after a turn. */
  token: withDefault('token', '', /^(\d+:.*)?$/s, text),
  lastCommit: optional('commit', /^\d+:.*:\d+$/s, decodeCommitField, noCommit),
  run: counter('run', '1'),
  isOpen: flag('open'),
  runState: withDefault('runState', 'Idle', runStateForm, decodeRunState),
  wait: withDefault(
    'wait',
    'any',
    { test: (value) => decodeWait(value) !== null },
    (value) => decodeWait(value) ?? forAny,
  ),
  attempts: withDefault('attempt', '0', /^\d+( \S+( \d+ \S+)*)?$/, decodeAttempts),
  /** Children spawned in this run. */
  calls: counter('calls'),
  /** Numbers of the calls whose results are still to come. */
  pendingCalls: withDefault('pendingCalls', '', /^(\d+(-\d+)?(,\d+(-\d+)?)*)?$/, decodeCalls),
  timersOpen: counter('timersOpen'),
  /** Messages of each lane that were taken out of it for ever. */
  signalsTaken: counter('signals'),
  resultsTaken: counter('results'),
  inputsTaken: counter('inbox'),
  /** Starts apart from others, since the last commit. */
  isolatedStarts: counter('isolated'),
  /** Leases that ended with their turn open. */
  crashes: counter('crashes'),
  /** The last run failed, and its failure has a key of its own. */
  hasFailed: flag('failed'),
  /** The state of a handler, or the tally of an agent; `@`: it has a key of its own. */
  data: withDefault('data', '', anyText, text),
} as const

/** Fields that scripts alone read; and in records of roots those of `session-record.ts`. */
export const scriptFields: readonly string[] = ['schema', 'wakeups']

export interface WorkerRecord extends Decoded<typeof workerFields> {
  readonly id: string
  readonly name: string
  /** Null of a child whose path somebody wrote over. */
  readonly sessionId: string | null
  readonly parentId: string | null
  /** The run of the parent that spawned it; null of a root, and of a child that was spawned as detached. */
  readonly parentRun: number | null
  /** How often it was claimed, in all and since its last commit. */
  readonly epoch: number
  readonly starts: number
}

/** Reads a record that scripts have checked. */
export function decodeRecord(id: string, fields: RecordFields): WorkerRecord {
  return derived(id, fields, decodeFields(workerFields, fields))
}

export interface ReadRecord {
  readonly record: WorkerRecord
  /** Fields that another program wrote over. */
  readonly damage: readonly FieldDamage[]
}

/** Reads any record. */
export function readRecord(id: string, fields: RecordFields): ReadRecord {
  const damage = damageIn(workerFields, fields)
  const record = derived(id, fields, decodeFields(workerFields, fields, damage))
  return { record, damage: [...damage, ...pathDamage(record.depth, fields)] }
}

/** The record of a worker of which nothing can be read. */
export function unreadableRecord(id: string): WorkerRecord {
  return readRecord(id, { runState: 'Failed' }).record
}

/** The fields that count what was taken out of each lane, in the order of `lanes`. */
export const takenFields: readonly string[] = [
  workerFields.signalsTaken.name,
  workerFields.resultsTaken.name,
  workerFields.inputsTaken.name,
]

export function takenOf(record: WorkerRecord, lane: Lane): number {
  return { signals: record.signalsTaken, results: record.resultsTaken, inbox: record.inputsTaken }[lane]
}

function derived(id: string, fields: RecordFields, own: Decoded<typeof workerFields>): WorkerRecord {
  const { kind, givenName, call, token, lastCommit } = own
  const path = readPath(id, own.depth, fields)
  const committed = epochIn(lastCommit.id)
  const epoch = Math.max(epochIn(token), committed)
  const name = givenName ?? (call === null || kind === '' ? kind : defaultName(kind, call))
  return { ...own, ...path, id, name, epoch, starts: epoch - committed }
}

/** An element of a child's path: `<worker>:<run>`, or `<worker>:-` of a child that was spawned as detached. */
const pathForm = /^(?<parent>[0-9a-f-]{36}):(?<parentRun>\d+|-)$/

/** The first element of a child's path is its root, the last one its parent. */
function readPath(
  id: string,
  depth: number,
  fields: RecordFields,
): Pick<WorkerRecord, 'sessionId' | 'parentId' | 'parentRun'> {
  const { path1 } = fields
  if (path1 === undefined) return { sessionId: sessionIdOfRoot(id), parentId: null, parentRun: null }
  const { parent, parentRun } = pathForm.exec(fields[`path${depth}`] ?? '')?.groups ?? {}
  return {
    sessionId: pathForm.test(path1) ? sessionOfPath(path1) : null,
    parentId: parent ?? null,
    parentRun: parentRun === undefined || parentRun === '-' ? null : Number(parentRun),
  }
}

function pathDamage(depth: number, fields: RecordFields): FieldDamage[] {
  const found: FieldDamage[] = []
  for (let level = 1; level <= Math.min(depth, hardSessionLimits.depth); level++) {
    const element = fields[`path${level}`]
    if (element === undefined || !pathForm.test(element)) found.push({ field: `path${level}`, text: element })
  }
  return found
}

/** The session of a child, by the first element of its path, `<root>:<run>`; and that of a root, by its id. */
export function sessionOfPath(path1: string): string {
  return sessionIdOfRoot(path1.slice(0, idLength))
}

/** A text that cannot be read, since another program wrote it or a newer troupe, permits nothing: nobody here knows what it forbids. */
function readPermissions(value: string): Permissions {
  return isPermissionsText(value) ? decodePermissions(value) : { tools: [], kinds: [] }
}

/** `<token>:<sequence>:<version>`. */
function decodeCommitField(value: string): LastCommit {
  const end = value.lastIndexOf(':')
  return end < 0 ? noCommit : { id: value.slice(0, end), version: Number(value.slice(end + 1)) }
}

/** `<attempts> <what>` of each message that waits for its retry (`RunPosition.retrying`). */
function decodeAttempts(value: string): { readonly attempt: number; readonly retrying: string } {
  const [attempt, ...retrying] = value.split(' ')
  return { attempt: Number(attempt), retrying: retrying.join(' ') }
}
