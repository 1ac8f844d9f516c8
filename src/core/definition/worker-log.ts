/** Duty: the log for code of workers and tools, and the forms in which such code may call it. */
import { isError } from '../check/is-error.ts'
import { isObject } from '../check/is-object.ts'
import { toRuntimeError } from '../errors.ts'

/** Logs with the ids of session, worker and run. Log lines are not part of a commit. */
export interface WorkerLog {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** A log line: a message and its fields. */
type LogLine = readonly [message: string, fields: Readonly<Record<string, unknown>>]

/**
 * Reads a call of a log in any form that loggers elsewhere accept: a message and fields, fields first as in pino, fields alone, an Error, or
 * another value. An Error, also one among the fields, is written out, because a copy of its own fields would be empty.
 */
export function readLogCall(message: unknown, fields: unknown): LogLine {
  if (typeof message === 'string') return [message, fieldsOf(fields)]
  if (typeof fields === 'string') return [fields, fieldsOf(message)]
  return [isError(message) ? message.message : '', { ...fieldsOf(message), ...fieldsOf(fields) }]
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined) return {}
  if (isError(value)) return { error: textOf(value), stack: value.stack }
  if (!isObject(value)) return { value }
  const error = Object.values(value).find(isError)
  if (error === undefined) return value
  const written = Object.entries(value).map(([name, field]) => [name, isError(field) ? textOf(field) : field])
  return { stack: error.stack, ...Object.fromEntries(written) }
}

/** With the causes: libraries put there what happened ("fetch failed"). */
function textOf(error: Error): string {
  return `${error.name}: ${toRuntimeError(error).message}`
}
