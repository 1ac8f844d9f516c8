/**
 * Duty: the one shape of commands that look at or change the contents of Redis: an id, options, a connection, and one answer, which is
 * printed for people or as JSON.
 * VERB-1 A command that takes the id of a session also takes the id of any worker in it. A command that takes the id of a worker also takes
 *        the id of a session, and means its first worker.
 * VERB-2 An object of --json that is about a session or a worker has its id in `sessionId` or `workerId`, even if it also has an `id`.
 */
import type { Command } from 'commander'
import type { Troupe } from '../../client/client.ts'
import type { Purpose } from '../../client/fleet/partitions.ts'
import { isId, isWorkerId, pastedId, rootIdOf } from '../../core/ids.ts'
import { withTroupe } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, type Example, wholeNumber } from '../options.ts'
import { type JsonFlag, pageOf, print, printJson, tell } from '../terminal/output.ts'
import type { Answer } from '../view/answer.ts'

type Noun = 'session' | 'worker'

export interface VerbWords {
  readonly name: string
  readonly description: string
  /** The id that the command takes as its first argument. */
  readonly takes?: Noun
  /** Adds further arguments and options. */
  readonly options?: (command: Command) => unknown
  readonly examples: readonly Example[]
  /** Text at the end of the help. */
  readonly details?: string
}

export interface Verb<Flags> extends VerbWords {
  readonly purpose: Purpose
  readonly answer: (troupe: Troupe, request: Request<Flags>) => Promise<Answer>
}

export interface Request<Flags> {
  /** The id of the session or worker; empty for a command that takes none. */
  readonly id: string
  /** The arguments after the id. */
  readonly more: readonly unknown[]
  readonly flags: Flags & ConnectionFlags
  readonly namespace: string
}

const idHelp: Readonly<Record<Noun, string>> = {
  session: 'id of the session, or of one of its workers',
  worker: 'id of the worker, or of a session for its first worker',
}

/** Adds a command without its action. */
export function addCommand(
  parent: Command,
  { name, description, takes, options, examples, details }: VerbWords,
): Command {
  const command = parent.command(name).description(description)
  if (takes) command.argument(`<${takes}>`, idHelp[takes])
  options?.(command)
  addConnectionOptions(command)
  addExamples(command, examples)
  if (details) command.addHelpText('after', `\n${details}`)
  return command
}

export function addVerb<Flags extends object = object>(parent: Command, verb: Verb<Flags>): void {
  const { takes, purpose, answer } = verb
  const command = addCommand(parent, verb)
  command.action(() => {
    const flags = command.opts<Flags & ConnectionFlags>()
    const words: readonly unknown[] = command.processedArgs
    return withTroupe(flags, purpose, async (troupe, { namespace }) => {
      const id = takes ? await eitherId(troupe, String(words[0]), takes) : ''
      printAnswer(await answer(troupe, { id, more: takes ? words.slice(1) : words, flags, namespace }), flags)
    })
  })
}

export function printAnswer({ objects, lines, note, failure }: Answer, { json }: JsonFlag): void {
  if (json) for (const object of objects) printJson(object)
  else for (const line of lines(pageOf())) print(line)
  // The note may say that there is nothing, and nobody knows that.
  if (failure !== undefined) throw failure
  if (!json && note !== undefined) tell(note)
}

export function addLimitOption(command: Command, most: number, what = 'at most so many'): Command {
  return command.option('--limit <n>', what, wholeNumber(1), most)
}

export interface VerboseFlag {
  readonly verbose?: boolean
}

export function addVerboseOption(command: Command): Command {
  return command.option('-v, --verbose', 'also the states of the design: lifecycle, fine state and run')
}

/** The id of the session or worker that an id of either sort means (VERB-1). The client reports any text that is no id. */
export async function eitherId(troupe: Troupe, text: string, wanted: Noun): Promise<string> {
  const id = pastedId(text)
  if (!isId(id)) return text
  if (wanted === 'worker') return isWorkerId(id) ? id : rootIdOf(id)
  return isWorkerId(id) ? (await troupe.workers.get(id).report()).sessionId : id
}
