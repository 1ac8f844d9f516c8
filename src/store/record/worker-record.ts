/**
 * Duty: read the record of a worker as an object, by one table of all its fields.
 * Owns: name, default, form and meaning of each field. Does not own: writing; scripts write records, and have the same defaults in
 * lua/shared/record/defaults.lua. A test compares the two.
 * RECORD-1 A record keeps only fields that differ from the start. An absent field has the default of the table.
 * RECORD-2 No other TypeScript module spells a default of a record, or parses one of its fields.
 * RECORD-3 `damage` names each field that another program wrote over. Such a field is read as if it were absent.
 */
import { defaultName } from '../../core/definition/worker-name.ts'
import { defaultPool, idLength, sessionIdOfRoot } from '../../core/ids.ts'
import { decodeLimits, defaultWorkerLimits, encodeLimits, hardSessionLimits, limitsForm } from '../../core/policy.ts'
import { decodeGates, gatesForm } from '../../core/worker/gates.ts'
import { decodeConfiguration } from '../../core/worker/message/configuration.ts'
import type { Lane } from '../../core/worker/message/message.ts'
import { decodeSteered, steeredForm } from '../../core/worker/message/steer.ts'
import { decodePermissions, isPermissionsText, type Permissions } from '../../core/worker/permissions.ts'
import { costForm, decodeCost } from '../../core/worker/run/cost.ts'
import { decodeRunState, runStates, type WorkerState, workerStates } from '../../core/worker/run/run-state.ts'
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

/** A token and the id of a commit begin with the epoch: how often the worker had been claimed. */
export const epochIn = (token: string) => Number(token.slice(0, token.indexOf(':')) || 0)
/** Empty without a token. */
export const nonceIn = (token: string) => token.slice(token.indexOf(':') + 1)

/** The last commit, and the number of all commits. */
export interface LastCommit {
  /** `<token>:<sequence>`; empty before the first commit. */
  readonly id: string
  readonly version: number
}

const noCommit: LastCommit = { id: '', version: 0 }

const runStateForm = { test: (value: string) => runStates.includes(decodeRunState(value).run) }

/** Each property of the record, with its field. The path of a child has one field for each element (`path1`, `path2`, …); `readPath` reads it. */
export const workerFields = {
  kind: required('kind', /./s, '', text),
  /** The status of the worker in the store. */
  status: required<WorkerState>('status', oneOf(workerStates), 'idle', (value) => value as WorkerState),
  givenName: optional('name', anyText, text),
  mode: withDefault<WorkerMode>('mode', 'job', oneOf(['job', 'conversation']), (value) => value as WorkerMode),
  pool: withDefault('pool', defaultPool, anyText, text),
  depth: counter('depth'),
  /** The number of the call that spawned it. */
  call: optional('call', wholeNumber, Number),
  limits: withDefault('limits', encodeLimits(defaultWorkerLimits), limitsForm, decodeLimits),
  /** What the worker may use; null if nothing restricts that. */
  permissions: optional('permissions', { test: isPermissionsText }, readPermissions),
  /** What the worker whose message began the run may use; null if nothing restricts that. */
  runPermissions: optional('runPermissions', { test: isPermissionsText }, readPermissions),
  /** `<epoch>:<nonce>` while a slot holds the worker, `<epoch>:` after a lease that ended or a start that does not count, empty after a turn. */
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
  /** How many children this run has spawned. */
  calls: counter('calls'),
  /** The numbers of the calls whose results have not come yet. */
  pendingCalls: withDefault('pendingCalls', '', /^(\d+(-\d+)?(,\d+(-\d+)?)*)?$/, decodeCalls),
  /** How many signals the run still waits for: its timers and answers that have not been received. */
  signalsOpen: counter('signalsOpen'),
  /** How many steps of a handler this run has recorded. */
  steps: counter('steps'),
  /** Set if the kind says how many of its children run at once: that number, how many run, and how many wait to start. */
  atOnce: withDefault('atOnce', '', /^(\d+ \d+ \d+)?$/, decodeAtOnce),
  /** Set if the kind says how many of its runs are in progress at once, or begin within a time: its gates, and whether its run is at them. */
  gates: withDefault('gates', '', gatesForm, decodeGates),
  /** How many messages have ever been taken out of each lane. */
  signalsTaken: counter('signals'),
  resultsTaken: counter('results'),
  inputsTaken: counter('inbox'),
  /** Inputs that steer the run in progress: it takes them before their turn. */
  steered: withDefault('steered', '', steeredForm, decodeSteered),
  /** What somebody has set for this agent in place of what its kind says; null for nothing. */
  configured: withDefault('configured', '', anyText, decodeConfiguration),
  /** How many isolated starts there were since the last commit. */
  isolatedStarts: counter('isolated'),
  /** What its last node said before it died, or while code of this worker blocked it; kept until the next commit. */
  lastWords: optional('lastWords', anyText, text),
  /** Since when it is in a run queue, in ms since 1970, if its status is queued. */
  queuedAt: optional('queuedAt', wholeNumber, Number),
  /** What its model calls cost, and of how many nobody knows the price; null if it made none. */
  cost: optional('cost', costForm, decodeCost),
  /** How many leases expired during a turn. */
  crashes: counter('crashes'),
  /** The last run that has begun on a node whose kind has `onCancel`. */
  begunRun: counter('onCancel'),
  /** The last run failed. Its failure has a key of its own. */
  hasFailed: flag('failed'),
  /** The session is a copy of another one; `dry`: tools with effects are not run in it. */
  copied: withDefault('copied', '', oneOf(['', '1', 'dry']), text),
  /** The state of a handler, or the tally of an agent. `@`: the state has a key of its own. */
  data: withDefault('data', '', anyText, text),
} as const

/** Fields that only scripts read. The record of a root also has the fields of session-record.ts. */
export const scriptFields: readonly string[] = ['schema', 'wakeups', 'gateNumbers']

export interface WorkerRecord extends Decoded<typeof workerFields> {
  readonly id: string
  readonly name: string
  /** Null if another program wrote over the path of the child. */
  readonly sessionId: string | null
  readonly parentId: string | null
  /** The run of the parent that spawned it; null for a root and for a detached child. */
  readonly parentRun: number | null
  /** How often it was claimed: in all, and since its last commit. */
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

/** Reads a record that nobody has checked. */
export function readRecord(id: string, fields: RecordFields): ReadRecord {
  const damage = damageIn(workerFields, fields)
  const record = derived(id, fields, decodeFields(workerFields, fields, damage))
  return { record, damage: [...damage, ...pathDamage(record.depth, fields)] }
}

/** Stands for the record of a worker that cannot be read. */
export function unreadableRecord(id: string): WorkerRecord {
  return readRecord(id, { runState: 'Failed' }).record
}

/** The field of each lane that counts the messages taken out of it. */
export const takenField: Readonly<Record<Lane, string>> = {
  signals: workerFields.signalsTaken.name,
  results: workerFields.resultsTaken.name,
  inbox: workerFields.inputsTaken.name,
}

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

/** An element of the path of a child: `<worker>:<run>`, or `<worker>:-` for a detached child. */
const pathForm = /^(?<parent>[0-9a-f-]{36}):(?<parentRun>\d+|-)$/

/** The first element of the path is the root, the last one the parent. */
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

/** The id of the session, by the record of one of its workers. */
export function sessionOfRecord(id: string, { path1 }: RecordFields): string {
  return path1 === undefined ? sessionIdOfRoot(id) : sessionOfPath(path1)
}

/** The id of the session, from the first element of the path of a child (`<root>:<run>`) or from the id of a root. */
export function sessionOfPath(path1: string): string {
  return sessionIdOfRoot(path1.slice(0, idLength))
}

/** A text that cannot be parsed, because another program or a newer troupe wrote it, permits nothing. */
export function readPermissions(value: string): Permissions {
  return isPermissionsText(value) ? decodePermissions(value) : { tools: [], kinds: [] }
}

/** `<token>:<sequence>:<version>`. */
function decodeCommitField(value: string): LastCommit {
  const end = value.lastIndexOf(':')
  return end < 0 ? noCommit : { id: value.slice(0, end), version: Number(value.slice(end + 1)) }
}

/** Null while no child of the run was counted. */
function decodeAtOnce(
  value: string,
): { readonly most: number; readonly running: number; readonly waiting: number } | null {
  if (value === '') return null
  const [most, running, waiting] = value.split(' ').map(Number) as [number, number, number]
  return { most, running, waiting }
}

/** `<attempts> <what>` of each message that waits for its retry (`RunPosition.retrying`). */
function decodeAttempts(value: string): { readonly attempt: number; readonly retrying: string } {
  const [attempt, ...retrying] = value.split(' ')
  return { attempt: Number(attempt), retrying: retrying.join(' ') }
}
