/** Duty: a log record of a node as a line for people: `12:00:01  reader docs  info  read 12 files  bytes=5120`. */
import { inspect } from 'node:util'
import { placeInStack } from '../../../core/code-place.ts'
import { formatTime } from '../../../words/duration.ts'
import { stringOr } from '../../../words/lines/message-line.ts'
import { escapeLine } from '../../../words/text/escape.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof logLevels)[number]

export interface LogRecord {
  readonly at: number
  readonly level: LogLevel
  /** The arguments that pino takes: fields and a message, or a message alone. */
  readonly fields: unknown
  readonly message?: unknown
}

/** `reader docs` for the id of a worker; undefined for an id that is not known. */
export type LabelOf = (workerId: string) => string | undefined

type Fields = Readonly<Record<string, unknown>>

/** Fields that the label shows, or that the events of the session show. */
const inLabelOrEvents = new Set(['session', 'worker', 'kind', 'run'])

/** The line beside the event lines of a session; undefined for a record that repeats an event. */
export function lineBesideEvents(record: LogRecord, labelOf: LabelOf = () => undefined): string | undefined {
  const { level, message } = record
  const fields = fieldsOf(record)
  const label = labelOf(stringOr(fields.worker)) ?? stringOr(fields.kind, 'node')
  // A record of the runtime about a turn names no session. It repeats an event, except for the place in the author's code.
  const isOfRuntime = fields.worker !== undefined && fields.session === undefined
  if (isOfRuntime && typeof fields.stack === 'string')
    return line(record, label, stringOr(message), whatAndWhere(fields.stack))
  if (isOfRuntime && level !== 'error' && level !== 'fatal') return undefined
  // This line is left out: an event shows what each attempt threw, and where.
  if (fields.attempt !== undefined && fields.stack !== undefined) return undefined
  const fieldsLeft = Object.entries(fields).filter(([name]) => !inLabelOrEvents.has(name))
  return line(record, label, stringOr(message, stringOr(record.fields)), fieldsText(fieldsLeft))
}

/** The line of a node that is all there is to read: it has every field. */
export function nodeLogLine(record: LogRecord): string {
  const fields = fieldsOf(record)
  const { kind, ...others } = fields
  const label = stringOr(kind, 'node')
  return line(record, label, stringOr(record.message, stringOr(record.fields)), fieldsText(Object.entries(others)))
}

function fieldsOf({ fields }: LogRecord): Fields {
  return typeof fields === 'object' && fields !== null ? (fields as Fields) : {}
}

function line({ at, level }: LogRecord, label: string, message: string, rest: string): string {
  return `${formatTime(at)}  ${escapeLine([label, level, message, rest].filter(Boolean).join('  '))}`
}

/** `bytes=5120  at=/home/me/workers/reader.ts:12:7`: of a stack only the place. */
function fieldsText(entries: readonly (readonly [string, unknown])[]): string {
  return entries
    .map(([name, value]) =>
      name === 'stack' ? `at=${placeInStack(String(value)) ?? '?'}` : `${name}=${valueText(value)}`,
    )
    .join('  ')
}

/** Must not throw for any value: the logging code would fail. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value)
  } catch {
    return inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY })
  }
}

/** `TypeError: no such thing, at /home/me/workers/reader.ts:12:7`: the first line of a stack, and its place. */
function whatAndWhere(stack: string): string {
  const [what = ''] = stack.split('\n')
  const place = placeInStack(stack)
  return place ? `${what}, at ${place}` : what
}
