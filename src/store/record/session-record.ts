/**
 * Duty: what the record of a root says of its session, as an object: the second table of its fields.
 * RECORD-1 to RECORD-3 of worker-record.ts hold here as well.
 */
import type { ResultStatus } from '../../core/history/entry.ts'
import { decodeSpending, defaultSpending, encodeSpending } from '../../core/policy.ts'
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

const twoNumbers = /^\d+ \d+$/

const ownFields = {
  /** The reason of its cancel, as JSON; null: nobody cancelled it. */
  cancelReasonJson: optional('cancel', anyText, (text) => text),
  end: optional('ended', /^(completed|failed|cancelled) \d+( \d+ \d+)?$/, decodeEnd),
  /** Workers that it has ever had. */
  workers: counter('workers', '1'),
  /** How often something in it was cancelled. */
  cancelCount: counter('cancelCount'),
  /** Workers that were pruned, and those among them that are not counted yet. */
  retired: counter('retired'),
  resting: counter('resting'),
  /** What its agents have used together; null while its only agent counts in its own record. */
  spent: optional('spent', twoNumbers, decodeSpending),
  /** What its agents may use together. */
  allowed: withDefault('caps', encodeSpending(defaultSpending), twoNumbers, decodeSpending),
} as const

/** With what is true of the root as a worker, and counts for the session. */
export const sessionFields = {
  ...ownFields,
  kind: workerFields.kind,
  givenName: workerFields.givenName,
  mode: workerFields.mode,
  status: workerFields.status,
  run: workerFields.run,
} as const

const ownNames: ReadonlySet<string> = new Set(Object.values(ownFields).map(({ name }) => name))

/** Does this field say something of the session alone? */
export function isOfSession({ field }: FieldDamage): boolean {
  return ownNames.has(field)
}

/** Fields of roots that scripts alone read. */
export const rootScriptFields: readonly string[] = ['score', 'startWakeups']

/** How a session ended. */
export interface SessionEnd {
  readonly status: ResultStatus
  readonly at: number
  /** The run that ended it, and the place of its result in the root's history; null where no run did. */
  readonly result: RunResultPlace | null
}

export interface RunResultPlace {
  readonly run: number
  readonly status: ResultStatus
  readonly position: number
}

export interface SessionRecord extends Decoded<typeof sessionFields> {
  /** Of its root, and of itself. */
  readonly name: string
}

export interface ReadSession {
  readonly session: SessionRecord
  /** Fields that another program wrote over. */
  readonly damage: readonly FieldDamage[]
}

/** Field names of the table, and `path1`: a record with a path is no root's, and any id can be written as that of a session. */
export const sessionFieldNames: readonly string[] = ['path1', ...Object.values(sessionFields).map(({ name }) => name)]

/** By the values of `sessionFieldNames`; null without a root. */
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

/** A line of the hash of results, `<status> <position>`; null where another program wrote over it. */
export function decodeResultLine(run: number, line: string): RunResultPlace | null {
  if (!resultForm.test(line)) return null
  const [status, position] = line.split(' ') as [ResultStatus, string]
  return { run, status, position: Number(position) }
}

export function encodeResultLine({ status, position }: Omit<RunResultPlace, 'run'>): string {
  return `${status} ${position}`
}

/** `<status> <time>`, and where a run ended the session ` <run> <position>`. */
function decodeEnd(text: string): SessionEnd {
  const [status, at, run, position] = text.split(' ') as [ResultStatus, string, string?, string?]
  const result = run === undefined ? null : { run: Number(run), status, position: Number(position) }
  return { status, at: Number(at), result }
}
