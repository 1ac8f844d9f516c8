/** Duty: a failure as it is recorded: plain data, small, safe to show. Errors are thrown; failures are stored. */
import { type ErrorCode, toRuntimeError } from '../errors.ts'

/** Where a failure came from: user code of a handler, a model call, a tool, or troupe itself. */
export type FailureOrigin = 'handler' | 'model' | 'tool' | 'runtime'

export interface Failure {
  readonly code: ErrorCode
  readonly message: string
  readonly origin: FailureOrigin
  /** Milliseconds since the epoch, by the clock of the node that saw it. */
  readonly at: number
  /** Which try of the step failed, from 1. */
  readonly attempt: number
  readonly retryable: boolean
}

/** Longer messages are cut: a failure travels in results, events and reports. */
export const failureMessageCharsMax = 2_000

export function toFailure(thrown: unknown, origin: FailureOrigin, attempt: number, at: number): Failure {
  const error = toRuntimeError(thrown)
  return { code: error.code, message: cut(error.message), origin, at, attempt, retryable: error.retryable }
}

function cut(message: string): string {
  if (message.length <= failureMessageCharsMax) return message
  return `${message.slice(0, failureMessageCharsMax)} … (${message.length - failureMessageCharsMax} more characters cut)`
}
