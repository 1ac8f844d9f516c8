/**
 * Duty: define the errors of troupe. Every error that leaves troupe has one of these classes; `code` is public API (docs/reference/errors.md).
 * The class says who must act, and whether another attempt can help. Expected outcomes are values and not errors.
 */

import { isError } from './check/is-error.ts'

export type ErrorCode =
  | 'config_invalid'
  | 'worker_not_found'
  | 'session_not_found'
  | 'letter_not_found'
  | 'ask_not_found'
  | 'webhook_not_found'
  | 'delivery_not_found'
  | 'node_not_found'
  | 'ask_answered'
  | 'ask_expired'
  | 'ask_withdrawn'
  | 'kind_unknown'
  | 'tool_unknown'
  | 'transition_illegal'
  | 'session_finished'
  | 'worker_terminal'
  | 'version_stale'
  | 'mailbox_full'
  | 'message_too_big'
  | 'step_too_big'
  | 'signals_exceeded'
  | 'children_exceeded'
  | 'workers_exceeded'
  | 'depth_exceeded'
  | 'iterations_exceeded'
  | 'tool_calls_exceeded'
  | 'history_full'
  | 'budget_exceeded'
  | 'store_unavailable'
  | 'store_refused'
  | 'model_overloaded'
  | 'model_unavailable'
  | 'model_garbled'
  | 'model_refused'
  | 'context_overflow'
  | 'model_blank'
  | 'output_invalid'
  | 'circuit_open'
  | 'tool_failed'
  | 'tool_outcome_unknown'
  | 'approval_needed'
  | 'input_refused'
  | 'permission_exceeded'
  | 'lease_lost'
  | 'cancelled'
  | 'deadline_exceeded'
  | 'client_closed'
  | 'run_failed'
  | 'handler_failed'
  | 'poison'
  | 'input_invalid'
  | 'bug'

/**
 * The name of a class of this file, on the class itself. Two copies of the package in one process (a monorepo, a global command line) have
 * different classes; `instanceof` compares these names, so that an error of the other copy is what it says.
 */
const brand = Symbol.for('troupe.error')

interface Branded {
  readonly [brand]?: unknown
}

/** The branded names of the class of this value and of its bases. Does not throw, even if the value is a revoked proxy. */
function brandsOf(value: unknown): ReadonlySet<unknown> {
  const found = new Set<unknown>()
  try {
    if (!isError(value)) return found
    for (let next: unknown = Object.getPrototypeOf(value); next !== null; next = Object.getPrototypeOf(next)) {
      const type = (next as { readonly constructor?: Branded }).constructor
      if (type !== undefined && Object.hasOwn(type, brand)) found.add(type[brand])
    }
  } catch {}
  return found
}

/** Decides what `instanceof` answers. A class that a user derived has no brand, and is compared as usual. */
function isInstance(type: abstract new (...args: never[]) => unknown, value: unknown): boolean {
  const isOurs = Object.hasOwn(type, brand) && brandsOf(value).has((type as Branded)[brand])
  return isOurs || Function.prototype[Symbol.hasInstance].call(type, value)
}

export type ErrorDetails = Readonly<Record<string, unknown>>

export interface RuntimeErrorOptions {
  readonly details?: ErrorDetails
  readonly cause?: unknown
}

/** Base of all errors of troupe. `retryable`: the same call may succeed later without any change. */
export abstract class RuntimeError extends Error {
  static readonly [brand]: string = 'RuntimeError'

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: it is the class on the right of instanceof, which may be a derived one
    return isInstance(this, value)
  }

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

/** An error of a class that always has the same code. */
abstract class SingleCodeError extends RuntimeError {
  static readonly code: ErrorCode

  constructor(message: string, options?: RuntimeErrorOptions) {
    super(new.target.code, message, options)
  }
}

/** An error that no retry can mend, of a class that covers several codes. */
abstract class CodedError<Code extends ErrorCode> extends RuntimeError {
  readonly retryable = false

  // Without this constructor a caller could pass the code of another class.
  constructor(code: Code, message: string, options?: RuntimeErrorOptions) {
    super(code, message, options)
  }
}

/** The set-up is wrong: the process does not start. The message is one sentence that says what to do. */
export class ConfigError extends SingleCodeError {
  static override readonly [brand]: string = 'ConfigError'
  static override readonly code = 'config_invalid'
  readonly retryable = false
}

/** A value from the caller that can never be right: bad JSON, a malformed id, a value that does not fit its schema. */
export class InputError extends SingleCodeError {
  static override readonly [brand]: string = 'InputError'
  static override readonly code = 'input_invalid'
  readonly retryable = false
}

type NotFoundCode =
  | 'worker_not_found'
  | 'session_not_found'
  | 'letter_not_found'
  | 'ask_not_found'
  | 'webhook_not_found'
  | 'delivery_not_found'
  | 'node_not_found'
  | 'kind_unknown'
  | 'tool_unknown'

export class NotFoundError extends CodedError<NotFoundCode> {
  static override readonly [brand]: string = 'NotFoundError'
}

type ConflictCode =
  | 'transition_illegal'
  | 'version_stale'
  | 'session_finished'
  | 'worker_terminal'
  | 'ask_answered'
  | 'ask_expired'
  | 'ask_withdrawn'
  | 'client_closed'

/** The thing exists, but its state does not allow the call. */
export class ConflictError extends CodedError<ConflictCode> {
  static override readonly [brand]: string = 'ConflictError'
}

export type LimitCode =
  | 'mailbox_full'
  | 'message_too_big'
  | 'step_too_big'
  | 'signals_exceeded'
  | 'children_exceeded'
  | 'workers_exceeded'
  | 'depth_exceeded'
  | 'iterations_exceeded'
  | 'tool_calls_exceeded'
  | 'history_full'
  | 'budget_exceeded'
  | 'permission_exceeded'

/** A limit of core/policy.ts was reached. The message names the limit and the value. */
export class LimitError extends CodedError<LimitCode> {
  static override readonly [brand]: string = 'LimitError'
}

/** The same call may succeed later. A handler throws it to ask for a retry after `retryAfterMs`. */
export class TransientError extends RuntimeError {
  static override readonly [brand]: string = 'TransientError'
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
    const { retryAfterMs } = options as { readonly retryAfterMs?: unknown }
    if (retryAfterMs !== undefined && (typeof retryAfterMs !== 'number' || Number.isNaN(retryAfterMs)))
      throw new InputError(`retryAfterMs takes a number of milliseconds, not ${describe(retryAfterMs)}.`)
    this.retryAfterMs = retryAfterMs
  }
}

/** This node has lost the right to run the worker. It aborts the turn, writes nothing and does not retry. */
export class LeaseLostError extends SingleCodeError {
  static override readonly [brand]: string = 'LeaseLostError'
  static override readonly code = 'lease_lost'
  readonly retryable = false
}

export class CancelledError extends SingleCodeError {
  static override readonly [brand]: string = 'CancelledError'
  static override readonly code = 'cancelled'
  readonly retryable = false
}

export class TimeoutError extends SingleCodeError {
  static override readonly [brand]: string = 'TimeoutError'
  static override readonly code = 'deadline_exceeded'
  readonly retryable = true
}

type TerminalCode =
  | 'run_failed'
  | 'poison'
  | 'model_refused'
  | 'context_overflow'
  | 'model_blank'
  | 'output_invalid'
  | 'circuit_open'
  | 'tool_failed'
  | 'tool_outcome_unknown'
  | 'approval_needed'
  | 'input_refused'

/** The run fails and is not retried; the worker lives on. A handler throws it for a failure that no retry can mend. */
export class TerminalError extends RuntimeError {
  static override readonly [brand]: string = 'TerminalError'
  readonly retryable = false
  constructor(message: string, options: RuntimeErrorOptions & { code?: TerminalCode } = {}) {
    super(options.code ?? 'run_failed', message, options)
  }
}

/** A fault of troupe itself; or, with `damaged` in its details, of a program that wrote over stored data. */
export class InvariantError extends SingleCodeError {
  static override readonly [brand]: string = 'InvariantError'
  static override readonly code = 'bug'
  readonly retryable = false
}

/** Names the stored data that another program wrote over. Undefined if the error has another cause. */
export function damageOf(thrown: unknown): string | undefined {
  return thrown instanceof InvariantError ? (thrown.details.damaged as string | undefined) : undefined
}

/**
 * Turns any thrown value into a RuntimeError, once, where the value enters a layer. An error of user code becomes retryable
 * (`handler_failed`). Does not throw, even if the accessors of the value do.
 */
export function toRuntimeError(thrown: unknown): RuntimeError {
  try {
    if (thrown instanceof RuntimeError) return thrown
    if (isError(thrown)) return carrierOf(messageOf(thrown), { cause: thrown })
  } catch {
    return carrierOf(unreadableText)
  }
  if (thrown === '') return carrierOf('an empty text was thrown')
  return carrierOf(typeof thrown === 'string' ? thrown : `a value that is not an Error was thrown: ${describe(thrown)}`)
}

/** Errors that only carry what was thrown. */
const carriers = new WeakSet<object>()

function carrierOf(message: string, options?: RuntimeErrorOptions): TransientError {
  const carrier = new TransientError(message, options)
  carriers.add(carrier)
  return carrier
}

/** Whether `toRuntimeError` made it: its own stack says nothing. */
export function isCarrier(error: unknown): boolean {
  return carriers.has(error as object)
}

/** How deep causes are followed, and how many errors of an AggregateError are quoted. */
const causesMax = 3

/**
 * The message of an error with those of its causes. Many libraries put the reason into the cause ("fetch failed"); Node's sockets put it
 * into the errors of an AggregateError.
 */
function messageOf(error: Error, depth = 0): string {
  const { message, name } = error as { message: unknown; name: unknown }
  const own = typeof message === 'string' ? message : message == null ? '' : describe(message)
  const isAggregate = error instanceof AggregateError || name === 'AggregateError'
  const inner: unknown = isAggregate ? (error as AggregateError).errors : [error.cause]
  if (depth === causesMax || !Array.isArray(inner)) return own || (typeof name === 'string' ? name : 'Error')
  const whys = inner.slice(0, causesMax).map((why) => (isError(why) ? messageOf(why, depth + 1) : why))
  const reasons = [...new Set(whys)].filter((why) => typeof why === 'string' && why !== '' && !own.includes(why))
  if (reasons.length === 0) return own || (typeof name === 'string' ? name : 'Error')
  const more = inner.length > causesMax ? [`and ${inner.length - causesMax} more`] : []
  return `${own === '' ? '' : `${own}: `}${[...reasons, ...more].join('; ')}`
}

export const unreadableText = 'a value was thrown that cannot be read'

function describe(value: unknown): string {
  if (typeof value === 'number') return String(value)
  try {
    return JSON.stringify(value)?.slice(0, 200) ?? String(value)
  } catch {
    // A circular object, a bigint, or an object whose methods throw: only its type can be named.
    return typeof value === 'bigint' ? `${value}n` : `${typeof value} without a JSON form`
  }
}
