/** Duty: the stored form of an error: plain data, small, and safe to show. Code throws errors; records and histories hold failures. */
import { codePlaceOf } from '../../code-place.ts'
import { type ErrorCode, toRuntimeError } from '../../errors.ts'
import { redactSentence } from '../../secret/redact.ts'

/** Where a failure came from: user code of a handler, a model call, a tool, or troupe itself. */
export type FailureOrigin = 'handler' | 'model' | 'tool' | 'runtime'

export interface Failure {
  readonly code: ErrorCode
  readonly message: string
  readonly origin: FailureOrigin
  /** In ms since 1970, by the clock of the node where it happened. */
  readonly at: number
  /** The number of the attempt that failed, counted from 1. */
  readonly attempt: number
  readonly retryable: boolean
  /** `workers/reader.ts:12:7`: where code of users threw it. For people; no model reads it. Absent if no place of theirs is known. */
  readonly thrownAt?: string
}

/** Longer messages are cut, because results, events and reports carry the failure. */
export const failureMessageCharsMax = 2_000

export function toFailure(thrown: unknown, origin: FailureOrigin, attempt: number, at: number): Failure {
  const error = toRuntimeError(thrown)
  const thrownAt = codePlaceOf(thrown)
  return {
    code: error.code,
    message: cutMessage(redactSentence(error.message)),
    origin,
    at,
    attempt,
    retryable: error.retryable,
    ...(thrownAt !== undefined && { thrownAt }),
  }
}

/** Cut at a whole character. */
export function cutMessage(message: string): string {
  if (message.length <= failureMessageCharsMax) return message
  const kept = message.slice(0, failureMessageCharsMax).replace(/[\ud800-\udbff]$/, '')
  return `${kept} … (${message.length - kept.length} more characters cut)`
}
