/**
 * Duty: the last words of a process that ends in the middle of its command, since code of a worker file threw where nobody catches,
 * or called process.exit. Without them it would end with a stack of Node's, or without a word.
 * S-a After an error that nobody caught the state of the process is not known: it ends at once, with 70, and drains nothing.
 * S-b Only the command line does this: what an error means for the process of somebody else is theirs to say.
 */
import { inspect } from 'node:util'
import type { Logger } from '../../log.ts'
import { exitCodes } from '../exit-code.ts'
import { placeOf } from '../view/stack-place.ts'
import { paint, printJson, safe, tell } from './output.ts'

/** How a command wants its last words said, as far as it has come. */
interface Surroundings {
  tell(line: string): void
  readonly json: boolean
  /** Of a command whose words are its log. */
  readonly logger?: Logger
  /** The session whose result it was to bring. */
  readonly sessionId?: string
  /** Whether somebody else can bring the result of that session. */
  readonly isLasting?: boolean
}

let around: Surroundings = { tell, json: false }
let isMeant = false

/** To be called once, before any code of users is loaded. */
export function watchForSuddenEnd(json: boolean): void {
  around = { ...around, json }
  process.on('uncaughtException', (thrown: unknown) => {
    sayUncaught(thrown)
    endProcess(exitCodes.fault)
  })
  // Nothing is left to wait for: nobody called process.exit.
  process.once('beforeExit', () => (isMeant = true))
  process.once('exit', (code) => {
    if (isMeant) return
    say(
      `something in this process called process.exit(${code})${at(new Error('process.exit').stack)}, before the command had ended.`,
    )
    // Who reads the exit code would take it for success.
    if (code === 0) process.exitCode = exitCodes.fault
  })
}

/** The command goes on to where its last words would be others. */
export function onSuddenEnd(more: Partial<Surroundings>): void {
  around = { ...around, ...more }
}

/** The one way to end this process without last words. */
export function endProcess(exitCode: number | undefined): never {
  isMeant = true
  process.exit(exitCode)
}

function sayUncaught(thrown: unknown): void {
  const stack = thrown instanceof Error ? thrown.stack : undefined
  const fate =
    'This process ends at once, as its state is not known; other nodes go on with its turns when their leases have ended.'
  say(`no code of a worker caught this error: ${describe(thrown)}${at(stack)}. ${fate}`, stack)
  if (stack !== undefined && placeOf(stack) === undefined && !around.logger) around.tell(safeLines(stack))
}

function say(what: string, stack?: string): void {
  const { sessionId, json, logger, isLasting } = around
  const advice = isLasting
    ? ` The session is not lost; its result later: troupe session result ${sessionId} --wait`
    : ''
  const message = `${what}${advice}`
  if (logger) logger.fatal({ ...(stack !== undefined && { stack }) }, message)
  else around.tell(`${paint('red', 'troupe:', process.stderr)} ${safe(message)}`)
  if (json) printJson({ type: 'error', code: 'uncaught', message, ...(sessionId !== undefined && { sessionId }) })
}

/** `TypeError: no such thing`. What is rejected without being an error, Node puts into one of its own. */
function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return inspect(thrown, { depth: 2 })
  const isWrapped = 'code' in thrown && thrown.code === 'ERR_UNHANDLED_REJECTION'
  const reason = isWrapped ? /The promise rejected with the reason "([\s\S]*)"\.$/.exec(thrown.message)?.[1] : undefined
  return (reason ?? `${thrown.name}: ${thrown.message}`).replace(/\.?\s*$/, '')
}

function at(stack: string | undefined): string {
  const place = stack === undefined ? undefined : placeOf(stack)
  return place === undefined ? '' : `, at ${place}`
}

function safeLines(text: string): string {
  return text.split('\n').map(safe).join('\n')
}
