/**
 * Duty: what a thrown value means at the command line: one sentence, a code for programs, an exit code for shells.
 * The exit codes are a contract: 0 ok, 1 it failed, 2 the command is wrong, 69 Redis or a node is unavailable, 70 an error that nothing
 * caught ended the process, 128 + n signal n.
 * Where 1 is an answer (`audit`): 66 what was asked about is not there, 70 there is no answer, by a fault of troupe.
 */
import { type ErrorCode, NotFoundError, RuntimeError } from '../core/errors.ts'

export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 66,
  unavailable: 69,
  fault: 70,
  interrupted: 130,
} as const

export interface Complaint {
  readonly code: ErrorCode
  readonly message: string
  readonly exitCode: number
  /** Only of what is a fault of troupe or of nobody's making: for a bug report. */
  readonly stack: string | undefined
  /** The message has lines of its own, such as the end of a log; otherwise a line break in it comes from others. */
  readonly hasLines?: boolean
}

/** The codes that mean something else than "it failed" (1). */
const exitCodeOf: Partial<Record<ErrorCode, number>> = {
  config_invalid: exitCodes.usage,
  input_invalid: exitCodes.usage,
  kind_unknown: exitCodes.usage,
  store_unavailable: exitCodes.unavailable,
  store_refused: exitCodes.unavailable,
}

/** What a command threw whose exit code 1 is an answer, so that it may not mean an error as well. */
export class Unanswered extends Error {
  constructor(cause: unknown) {
    super('there is no answer', { cause })
  }
}

export function toComplaint(thrown: unknown): Complaint {
  // What went wrong first counts, not what went wrong with closing afterwards.
  if (isSuppressedError(thrown)) return toComplaint(thrown.suppressed)
  if (thrown instanceof Unanswered) {
    const complaint = toComplaint(thrown.cause)
    if (complaint.exitCode !== exitCodes.failed) return complaint
    const exitCode = thrown.cause instanceof NotFoundError ? exitCodes.notFound : exitCodes.fault
    return { ...complaint, exitCode }
  }
  if (thrown instanceof RuntimeError) {
    // Of what another program wrote over, nobody needs to be told where it was read.
    const stack = thrown.code === 'bug' && thrown.details.damaged === undefined ? thrown.stack : undefined
    return { code: thrown.code, message: thrown.message, exitCode: exitCodeOf[thrown.code] ?? exitCodes.failed, stack }
  }
  if (thrown instanceof Error && thrown.name === 'RedisUnavailableError') {
    return {
      code: 'store_unavailable',
      message: thrown.message,
      exitCode: exitCodes.unavailable,
      stack: undefined,
      hasLines: true,
    }
  }
  if (thrown instanceof Error && thrown.name === 'ReplyError') {
    const message = `Redis refused a command: ${thrown.message.replace(/\.?$/, '.')}`
    return { code: 'store_refused', message, exitCode: exitCodes.unavailable, stack: undefined }
  }
  if (thrown instanceof Error && 'syscall' in thrown && thrown.syscall === 'uv_cwd') {
    const { code = '' } = thrown as NodeJS.ErrnoException
    const message = `the current folder cannot be found (${code}): go to another one.`
    return { code: 'input_invalid', message, exitCode: exitCodes.usage, stack: undefined }
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  const stack = thrown instanceof Error ? thrown.stack : undefined
  return {
    code: 'bug',
    message: message || 'something was thrown without a message',
    exitCode: exitCodes.failed,
    stack,
  }
}

function isSuppressedError(thrown: unknown): thrown is SuppressedError {
  return thrown instanceof Error && thrown.name === 'SuppressedError' && 'suppressed' in thrown
}

/** What a shell expects of a process that a signal ended. */
export function exitCodeOfSignal(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): number {
  return { SIGINT: exitCodes.interrupted, SIGTERM: 143, SIGHUP: 129 }[signal]
}
