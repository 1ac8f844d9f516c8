/**
 * Duty: the meaning of a thrown value at the command line: one sentence, a code for programs, an exit code for shells.
 * EXIT-1 The exit codes are a contract: 0 ok, 1 it failed, 2 the command is wrong, 69 Redis or a node is unavailable, 70 an uncaught
 *        error ended the process, 128 + n for signal n.
 * EXIT-2 For `audit` 1 is an answer. There an unknown session is 66, and an audit that failed is 70.
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

let ofCommand: number = exitCodes.ok

/**
 * Sets the exit code of the command that runs, if it ends without an error. `process.exitCode` is not used: code of a worker file may set that, and
 * it says nothing of the command.
 */
export function endWith(exitCode: number | undefined): void {
  ofCommand = exitCode ?? exitCodes.ok
}

/** The exit code that the command has set; the next command of this process begins with 0. */
export function takeExitCode(): number {
  const exitCode = ofCommand
  ofCommand = exitCodes.ok
  return exitCode
}

export interface Complaint {
  readonly code: ErrorCode
  readonly message: string
  readonly exitCode: number
  /** The stack for a bug report; undefined unless troupe is at fault, or nobody knows who is. */
  readonly stack: string | undefined
  /** The message has line breaks of ours, such as the end of a log. Otherwise they are foreign text, and are escaped. */
  readonly hasLines?: boolean
}

/** The codes whose exit code is not 1 ("it failed"). */
const exitCodeOf: Partial<Record<ErrorCode, number>> = {
  config_invalid: exitCodes.usage,
  input_invalid: exitCodes.usage,
  kind_unknown: exitCodes.usage,
  store_unavailable: exitCodes.unavailable,
  store_refused: exitCodes.unavailable,
}

/** An error of a command for which exit code 1 is an answer, and so must not be an error. */
export class Unanswered extends Error {
  constructor(cause: unknown) {
    super('there is no answer', { cause })
  }
}

export function toComplaint(thrown: unknown): Complaint {
  // The first error counts, not an error of closing afterwards.
  if (isSuppressedError(thrown)) return toComplaint(thrown.suppressed)
  if (thrown instanceof Unanswered) {
    const complaint = toComplaint(thrown.cause)
    if (complaint.exitCode !== exitCodes.failed) return complaint
    const exitCode = thrown.cause instanceof NotFoundError ? exitCodes.notFound : exitCodes.fault
    return { ...complaint, exitCode }
  }
  if (thrown instanceof RuntimeError) {
    // Another program overwrote the data: the place in our code where it was read helps nobody.
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
    const message = `the current folder does not exist any more (${code}): change to another folder.`
    return { code: 'input_invalid', message, exitCode: exitCodes.usage, stack: undefined }
  }
  if (thrown instanceof Error && 'code' in thrown && (thrown.code === 'EMFILE' || thrown.code === 'ENFILE')) {
    const whose = thrown.code === 'EMFILE' ? 'this process' : 'this machine'
    const message = `${whose} may open no more files (${thrown.code}): raise the limit (ulimit -n, LimitNOFILE of systemd, fs.file-max).`
    return { code: 'config_invalid', message, exitCode: exitCodes.usage, stack: undefined }
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

/** The exit code that shells expect of a process that a signal ended. */
export function exitCodeOfSignal(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): number {
  return { SIGINT: exitCodes.interrupted, SIGTERM: 143, SIGHUP: 129 }[signal]
}
