/**
 * Duty: read the record of a root as that of its session: the table of the fields that say something of the whole session.
 * It keeps RECORD-1 to RECORD-3 of worker-record.ts.
 */
import type { ResultStatus } from '../../core/history/entry.ts'
import { allowedForm, decodeSpending, defaultSpending, encodeAllowed, spentForm } from '../../core/policy.ts'
import { approvalForm, decodeApproval, defaultApproval } from '../../core/worker/ask/session-approval.ts'
import { decodeNotify } from '../../core/worker/notify.ts'
import { costForm, decodeCost } from '../../core/worker/run/cost.ts'
import { decodeTurnShare, defaultTurnShare, encodeTurnShare, turnShareForm } from '../../core/worker/turn-share.ts'
import { fieldsNamed, type RecordFields } from '../script/replies.ts'
import {
  anyText,
  counter,
  type Decoded,
  damageIn,
  decodeFields,
  type FieldDamage,
  optional,
  withDefault,
} from './field.ts'
import { workerFields } from './worker-record.ts'

const ownFields = {
  /** The reason of the cancel, as JSON; null if nobody cancelled the session. */
  cancelReasonJson: optional('cancel', anyText, (text) => text),
  /** Who paused the session, why and when, as JSON; null while it is not paused. */
  pauseJson: optional('paused', anyText, (text) => text),
  /** Who closed the conversation, and when, as JSON; null: nobody did. */
  closeJson: optional('closed', anyText, (text) => text),
  end: optional('ended', /^(completed|failed|cancelled) \d+( \d+ \d+)?$/, decodeEnd),
  /** How many workers it has ever had. */
  workers: counter('workers', '1'),
  /** How many cancels there were: of the session, and of the children of runs that ended. */
  cancelCount: counter('cancelCount'),
  /** How many of its workers were pruned; and how many at the head of its list are known to rest for good. */
  retired: counter('retired'),
  resting: counter('resting'),
  /** How often somebody let a failed run of the session go on. */
  retries: optional('retried', /^\d+ \S+ \S*$/, (text) => Number(text.split(' ')[0]), 0),
  /** The session that it is a copy of, and when it was copied; null if it is none. */
  forkedFrom: optional('forkedFrom', /^[0-9a-f-]{36} \d+$/, decodeFork),
  /** The worker whose conversation it began with, and up to which position of that history; null if it is no branch. */
  branchOf: optional('branchOf', /^[0-9a-f-]{36} \d+$/, decodeBranch),
  /** What its agents have used together. Null while one agent is alone: it keeps the count in its own record. */
  spent: optional('spent', spentForm, decodeSpending),
  /** What the model calls of all its agents have cost together. Null before the first call. */
  cost: optional('sessionCost', costForm, decodeCost),
  /** Where its result goes when it ends; null: nowhere. */
  notify: optional('notify', anyText, decodeNotify),
  /** What the session says of approvals. */
  approval: optional('approval', approvalForm, (text) => decodeApproval(text) ?? defaultApproval, defaultApproval),
  /** Its share of the slots, and how far in front its workers stand. */
  turnShare: withDefault('turnShare', encodeTurnShare(defaultTurnShare), turnShareForm, decodeTurnShare),
  /** How long one of its turns holds a slot, on average, in µs; 0 before the first has ended. */
  turnUs: counter('turnUs'),
  /** What its agents may use together. */
  allowed: withDefault('caps', encodeAllowed(defaultSpending), allowedForm, decodeSpending),
} as const

/** The table of the session: its own fields, and those of the root that matter for it. */
export const sessionFields = {
  ...ownFields,
  kind: workerFields.kind,
  givenName: workerFields.givenName,
  mode: workerFields.mode,
  status: workerFields.status,
  run: workerFields.run,
  copied: workerFields.copied,
} as const

const ownNames: ReadonlySet<string> = new Set(Object.values(ownFields).map(({ name }) => name))

/** True for a field of the session, false for one of the root as a worker. */
export function isOfSession({ field }: FieldDamage): boolean {
  return ownNames.has(field)
}

/** Fields of roots that only scripts read. */
export const rootScriptFields: readonly string[] = ['endFrom', 'score', 'startWakeups']

/** How a session ended. */
export interface SessionEnd {
  readonly status: ResultStatus
  readonly at: number
  /** The run that ended it, and the position of its result in the history of the root. Null if no run ended it. */
  readonly result: RunResultPlace | null
}

export interface RunResultPlace {
  readonly run: number
  readonly status: ResultStatus
  readonly position: number
}

export interface SessionRecord extends Decoded<typeof sessionFields> {
  /** The name of the root, which is also that of the session. */
  readonly name: string
}

export interface ReadSession {
  readonly session: SessionRecord
  /** Fields that another program wrote over. */
  readonly damage: readonly FieldDamage[]
}

/** The names of all fields of the table, and `path1`: a record with a path is a child's, although its id was written as that of a session. */
export const sessionFieldNames: readonly string[] = ['path1', ...Object.values(sessionFields).map(({ name }) => name)]

/** Reads the values of `sessionFieldNames`. Null if no root has them. */
export function readSessionValues(values: readonly (string | null)[]): ReadSession | null {
  const fields = fieldsNamed(sessionFieldNames, values)
  return fields.kind === undefined || fields.path1 !== undefined ? null : readSession(fields)
}

export function readSession(fields: RecordFields): ReadSession {
  const damage = damageIn(sessionFields, fields)
  const session = decodeFields(sessionFields, fields, damage)
  return { session: { ...session, name: session.givenName ?? session.kind }, damage }
}

const resultForm = /^(completed|failed|cancelled) \d+$/

/** Reads a line of the hash of results, `<status> <position>`. Null if another program wrote over it. */
export function decodeResultLine(run: number, line: string): RunResultPlace | null {
  if (!resultForm.test(line)) return null
  const [status, position] = line.split(' ') as [ResultStatus, string]
  return { run, status, position: Number(position) }
}

export function encodeResultLine({ status, position }: Omit<RunResultPlace, 'run'>): string {
  return `${status} ${position}`
}

/** Which session a copy was made of, and when. */
export interface ForkOf {
  readonly sessionId: string
  /** In ms since 1970. */
  readonly at: number
}

/** The worker whose conversation a branch began with, and up to which position of its history. */
export interface BranchOf {
  readonly workerId: string
  readonly position: number
}

export function encodeBranch({ workerId, position }: BranchOf): string {
  return `${workerId} ${position}`
}

function decodeBranch(text: string): BranchOf {
  const [workerId, position] = text.split(' ') as [string, string]
  return { workerId, position: Number(position) }
}

function decodeFork(text: string): ForkOf {
  const [sessionId, at] = text.split(' ') as [string, string]
  return { sessionId, at: Number(at) }
}

/** `<status> <time>`, followed by ` <run> <position>` if a run ended the session. */
function decodeEnd(text: string): SessionEnd {
  const [status, at, run, position] = text.split(' ') as [ResultStatus, string, string?, string?]
  const result = run === undefined ? null : { run: Number(run), status, position: Number(position) }
  return { status, at: Number(at), result }
}
