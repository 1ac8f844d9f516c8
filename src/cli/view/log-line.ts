/** Duty: what a node logs, as a line for people. */
import { inspect } from 'node:util'
import { escapeLine } from '../terminal/escape.ts'
import { formatTime } from './duration.ts'
import { placeOf } from './stack-place.ts'
import { textOf } from './text-of.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof logLevels)[number]

interface LogRecord {
  readonly at: number
  readonly level: LogLevel
  /** As pino takes them: fields and a message, or a message alone. */
  readonly fields: unknown
  readonly message?: unknown
}

/** Said by the line itself, or known from the events of the session. */
const known = new Set(['session', 'worker', 'kind', 'run'])

/** `12:00:01  reader  info  read 12 files  bytes=5120`; undefined for what the events of the session tell already. */
export function logLine({ at, level, fields, message }: LogRecord): string | undefined {
  const given = typeof fields === 'object' && fields !== null ? (fields as Readonly<Record<string, unknown>>) : {}
  // What the runtime says about a turn is an event as well, but where in the author's code something was thrown; what a worker's own
  // code logs carries its session.
  const isRuntimeOnTurn = given.worker !== undefined && given.session === undefined
  if (isRuntimeOnTurn && typeof given.stack === 'string') {
    const parts = [textOf(given.kind, 'node'), level, textOf(message, textOf(fields)), whatAndWhere(given.stack)]
    return `${formatTime(at)}  ${escapeLine(parts.join('  '))}`
  }
  if (isRuntimeOnTurn && level !== 'error' && level !== 'fatal') return undefined
  const preview = Object.entries(given)
    .filter(([name]) => !known.has(name))
    .map(([name, value]) => (name === 'stack' ? `at=${placeOf(String(value)) ?? '?'}` : `${name}=${fieldText(value)}`))
  const parts = [textOf(given.kind, 'node'), level, textOf(message, textOf(fields)), ...preview]
  return `${formatTime(at)}  ${escapeLine(parts.filter(Boolean).join('  '))}`
}

/** No value may break the code that logs it. */
function fieldText(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value)
  } catch {
    return inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY })
  }
}

/** `TypeError: no such thing, at /home/me/workers/reader.ts:12:7`: the first line of a stack, and where it was thrown. */
function whatAndWhere(stack: string): string {
  const [what = ''] = stack.split('\n')
  const place = placeOf(stack)
  return place ? `${what}, at ${place}` : what
}
