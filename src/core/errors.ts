/**
 * Duty: the error taxonomy. Every error that leaves troupe is one of these classes; `code` is public API (docs/reference/errors.md).
 * Names say the consequence: who is told, and whether trying again can help. Expected outcomes are values, not errors.
 */

export type ErrorCode =
  | 'config_invalid'
  | 'worker_not_found'
  | 'session_not_found'
  | 'letter_not_found'
  | 'kind_unknown'
  | 'tool_unknown'
  | 'transition_illegal'
  | 'session_finished'
  | 'worker_terminal'
  | 'version_stale'
  | 'mailbox_full'
  | 'message_too_big'
  | 'step_too_big'
  | 'children_exceeded'
  | 'workers_exceeded'
  | 'depth_exceeded'
  | 'iterations_exceeded'
  | 'budget_exceeded'
  | 'store_unavailable'
  | 'store_refused'
  | 'model_overloaded'
  | 'model_unavailable'
  | 'model_garbled'
  | 'model_refused'
  | 'model_blank'
  | 'circuit_open'
  | 'tool_failed'
  | 'tool_outcome_unknown'
  | 'grant_exceeded'
  | 'lease_lost'
  | 'cancelled'
  | 'deadline_exceeded'
  | 'client_closed'
  | 'run_failed'
  | 'handler_failed'
  | 'poison'
  | 'input_invalid'
  | 'bug'

export type ErrorDetails = Readonly<Record<string, unknown>>

export interface RuntimeErrorOptions {
  readonly details?: ErrorDetails
  readonly cause?: unknown
}

/** Base of all errors troupe throws. `retryable` says whether the same call may succeed later without any change. */
export abstract class RuntimeError extends Error {
  abstract readonly retryable: boolean
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, options: RuntimeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = code
    this.details = options.details ?? {}
  }
}

/** Wrong set-up: the process does not start. One sentence, with what to do. */
export class ConfigError extends RuntimeError {
  readonly retryable = false
  constructor(message: string, options?: RuntimeErrorOptions) {
    super('config_invalid', message, options)
  }
}

/** A value given by the caller that can never be right: bad JSON, a malformed id, a value that fails its schema. */
export class InputError extends RuntimeError {
  readonly retryable = false
  constructor(message: string, options?: RuntimeErrorOptions) {
    super('input_invalid', message, options)
  }
}

type NotFoundCode = 'worker_not_found' | 'session_not_found' | 'letter_not_found' | 'kind_unknown' | 'tool_unknown'

export class NotFoundError extends RuntimeError {
  readonly retryable = false
  constructor(code: NotFoundCode, message: string, options?: RuntimeErrorOptions) {
    super(code, message, options)
  }
}

type ConflictCode = 'transition_illegal' | 'version_stale' | 'session_finished' | 'worker_terminal' | 'client_closed'

/** The thing exists, but its state does not allow the call. */
export class ConflictError extends RuntimeError {
  readonly retryable = false
  constructor(code: ConflictCode, message: string, options?: RuntimeErrorOptions) {
    super(code, message, options)
  }
}

export type LimitCode =
  | 'mailbox_full'
  | 'message_too_big'
  | 'step_too_big'
  | 'children_exceeded'
  | 'workers_exceeded'
  | 'depth_exceeded'
  | 'iterations_exceeded'
  | 'budget_exceeded'
  | 'grant_exceeded'

/** A limit of core/policy.ts was reached; the message names the limit and the value. */
export class LimitError extends RuntimeError {
  readonly retryable = false
  constructor(code: LimitCode, message: string, options?: RuntimeErrorOptions) {
    super(code, message, options)
  }
}

/** May succeed later without any change. A handler throws it to ask for a retry after `retryAfterMs`. */
export class TransientError extends RuntimeError {
  readonly retryable = true
  readonly retryAfterMs: number | undefined
  constructor(
    message: string,
    options: RuntimeErrorOptions & {
      code?:
        | 'store_unavailable'
        | 'store_refused'
        | 'model_overloaded'
        | 'model_unavailable'
        | 'model_garbled'
        | 'handler_failed'
      retryAfterMs?: number
    } = {},
  ) {
    super(options.code ?? 'handler_failed', message, options)
    this.retryAfterMs = options.retryAfterMs
  }
}

/** This node lost the right to run the worker. Never retried by the loser: it aborts and writes nothing. */
export class LeaseLostError extends RuntimeError {
  readonly retryable = false
  constructor(message: string, options?: RuntimeErrorOptions) {
    super('lease_lost', message, options)
  }
}

export class CancelledError extends RuntimeError {
  readonly retryable = false
  constructor(message: string, options?: RuntimeErrorOptions) {
    super('cancelled', message, options)
  }
}

export class TimeoutError extends RuntimeError {
  readonly retryable = true
  constructor(message: string, options?: RuntimeErrorOptions) {
    super('deadline_exceeded', message, options)
  }
}

type TerminalCode =
  | 'run_failed'
  | 'poison'
  | 'model_refused'
  | 'model_blank'
  | 'circuit_open'
  | 'tool_failed'
  | 'tool_outcome_unknown'

/** The run fails and is not retried; the worker lives on. A handler throws it for what no retry can mend. */
export class TerminalError extends RuntimeError {
  readonly retryable = false
  constructor(message: string, options: RuntimeErrorOptions & { code?: TerminalCode } = {}) {
    super(options.code ?? 'run_failed', message, options)
  }
}

/** A fault of troupe itself; or, with `damaged` among its details, of who wrote over what is stored. */
export class InvariantError extends RuntimeError {
  readonly retryable = false
  constructor(message: string, options?: RuntimeErrorOptions) {
    super('bug', message, options)
  }
}

/** What somebody wrote over, in words; undefined where nobody did. */
export function damageOf(thrown: unknown): string | undefined {
  return thrown instanceof InvariantError ? (thrown.details.damaged as string | undefined) : undefined
}

/**
 * Turns any thrown value into a RuntimeError, once, at the layer border. What user code throws is retried (`handler_failed`). Does not
 * throw: an error's own accessors may.
 */
export function toRuntimeError(thrown: unknown): RuntimeError {
  try {
    if (thrown instanceof RuntimeError) return thrown
    if (thrown instanceof Error) return new TransientError(messageOf(thrown), { cause: thrown })
  } catch {
    return new TransientError(unreadableText)
  }
  if (thrown === '') return new TransientError('an empty text was thrown')
  return new TransientError(
    typeof thrown === 'string' ? thrown : `a value that is not an Error was thrown: ${describe(thrown)}`,
  )
}

/** Of causes of causes, and of errors that were gathered, so many are told. */
const causesMax = 3

/** What it says, and why: many libraries leave that to the cause ("fetch failed"), Node's sockets to the errors that they gather. */
function messageOf(error: Error, depth = 0): string {
  const { message, name } = error as { message: unknown; name: unknown }
  const own = typeof message === 'string' ? message : message == null ? '' : describe(message)
  const inner: unknown = error instanceof AggregateError ? error.errors : [error.cause]
  if (depth === causesMax || !Array.isArray(inner)) return own || (typeof name === 'string' ? name : 'Error')
  const whys = inner.slice(0, causesMax).map((why) => (why instanceof Error ? messageOf(why, depth + 1) : why))
  const told = [...new Set(whys)].filter((why) => typeof why === 'string' && why !== '' && !own.includes(why))
  if (told.length === 0) return own || (typeof name === 'string' ? name : 'Error')
  const more = inner.length > causesMax ? [`and ${inner.length - causesMax} more`] : []
  return `${own === '' ? '' : `${own}: `}${[...told, ...more].join('; ')}`
}

export const unreadableText = 'a value was thrown that cannot be read'

function describe(value: unknown): string {
  if (typeof value === 'number') return String(value)
  try {
    return JSON.stringify(value)?.slice(0, 200) ?? String(value)
  } catch {
    // A circle, a bigint, or an object whose own methods throw: its sort is all there is to say.
    return typeof value === 'bigint' ? `${value}n` : `${typeof value} without a JSON form`
  }
}
