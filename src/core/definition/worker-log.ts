/** Duty: the log that code of workers and tools is given. */
import { isObject } from '../check/is-object.ts'

/** Logs with the ids of session, worker and run attached. Not part of what is committed. */
export interface WorkerLog {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** How something was logged: a message and its fields. */
type Spoken = readonly [message: string, fields: Readonly<Record<string, unknown>>]

/**
 * What was said, in whatever form loggers elsewhere take it: fields first, as pino wants them; fields alone; an Error, of which a copy
 * of its fields would hold nothing; a value that is no fields.
 */
export function spokenOf(message: unknown, fields: unknown): Spoken {
  if (typeof message === 'string') return [message, fieldsOf(fields)]
  if (typeof fields === 'string') return [fields, fieldsOf(message)]
  const isError = message instanceof Error
  return [isError ? message.message : '', { ...fieldsOf(message), ...fieldsOf(fields) }]
}

function fieldsOf(given: unknown): Readonly<Record<string, unknown>> {
  if (given === undefined) return {}
  if (given instanceof Error) return { error: `${given.name}: ${given.message}`, stack: given.stack }
  return isObject(given) ? given : { value: given }
}
