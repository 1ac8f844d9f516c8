/**
 * Duty: the last message of a process that ends in the middle of its command, because code of a worker file threw an error that nothing
 * catches, or called process.exit. Without it the process would end with a stack of Node, or without a word.
 * END-1 After an uncaught error the state of the process is unknown. It ends at once, with exit code 70, and drains nothing.
 * END-2 Only the command line does this. The owner of any other process decides for itself.
 */
import { inspect } from 'node:util'
import { isError } from '../../core/check/is-error.ts'
import { codePlaceOf, namePlacesFrom, stackOf } from '../../core/code-place.ts'
import { unreadableText } from '../../core/errors.ts'
import { isProcessEndExpected } from '../../core/process-end.ts'
import { cutMessage } from '../../core/worker/run/failure.ts'
import type { Logger } from '../../log.ts'
import { exitCodes } from '../exit-code.ts'
import { paint, printJson, safe, tell } from './output.ts'

/** How the command prints its last message, and what that message has to mention. */
interface Surroundings {
  tell(line: string): void
  readonly json: boolean
  /** Set for a command that writes a log instead of lines. */
  readonly logger?: Logger
  /** The session whose result the command waits for. */
  readonly sessionId?: string
  /** Whether another command can still print the result of that session. */
  readonly isLasting?: boolean
}

let around: Surroundings = { tell, json: false }
let isExpected = false

/** Call it once, before any code of users is loaded. */
export function watchForSuddenEnd(json: boolean): void {
  around = { ...around, json }
  try {
    namePlacesFrom([process.cwd()])
  } catch {
    // The current folder was removed: places are named by their whole paths.
  }
  process.on('uncaughtException', (thrown: unknown) => {
    sayUncaught(thrown)
    endProcess(exitCodes.fault)
  })
  // Nothing is left to wait for, which means that nobody called process.exit.
  process.once('beforeExit', () => (isExpected = true))
  process.once('exit', (code) => {
    if (isExpected || isProcessEndExpected()) return
    say(
      `something in this process called process.exit(${code})${at(codePlaceOf(new Error('process.exit')))}, before the command had ended.`,
    )
    // A caller would take exit code 0 for success.
    if (code === 0) process.exitCode = exitCodes.fault
  })
}

/** Adds what the command knows by now to its last message. */
export function onSuddenEnd(more: Partial<Surroundings>): void {
  around = { ...around, ...more }
}

/** The one way to end this process without a last message. */
export function endProcess(exitCode: number | undefined): never {
  isExpected = true
  process.exit(exitCode)
}

function sayUncaught(thrown: unknown): void {
  const stack = isError(thrown) ? stackOf(thrown) : undefined
  const fate = 'This process ends at once, because its state is unknown; other nodes go on with its turns.'
  say(`no code caught this error: ${describe(thrown)}${at(codePlaceOf(thrown))}. ${fate}`, stack)
  if (stack !== undefined && codePlaceOf(thrown) === undefined && !around.logger) around.tell(safeLines(stack))
}

function say(what: string, stack?: string): void {
  const { sessionId, json, logger, isLasting } = around
  const advice = isLasting
    ? ` The session is not lost. Get its result later with: troupe session result ${sessionId} --wait`
    : ''
  const message = `${what}${advice}`
  if (logger) logger.fatal({ ...(stack !== undefined && { stack }) }, message)
  else around.tell(`${paint('red', 'troupe:', process.stderr)} ${safe(message)}`)
  if (json) printJson({ type: 'error', code: 'uncaught', message, ...(sessionId !== undefined && { sessionId }) })
}

/** `TypeError: no such thing`. Does not throw, whatever was thrown. Node wraps a rejection that is no error into an error of its own. */
function describe(thrown: unknown): string {
  try {
    if (!isError(thrown)) return inspect(thrown, { depth: 2 })
    const { name, message: text } = thrown as { readonly name: unknown; readonly message: unknown }
    const message = cutMessage(String(text))
    const isWrapped = 'code' in thrown && thrown.code === 'ERR_UNHANDLED_REJECTION'
    const reason = isWrapped ? /The promise rejected with the reason "([\s\S]*)"\.$/.exec(message)?.[1] : undefined
    return (reason ?? `${String(name)}: ${message}`).replace(/\.?\s*$/, '')
  } catch {
    return unreadableText
  }
}

function at(place: string | undefined): string {
  return place === undefined ? '' : `, at ${place}`
}

function safeLines(text: string): string {
  return text.split('\n').map(safe).join('\n')
}
