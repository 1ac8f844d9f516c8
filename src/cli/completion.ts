/**
 * Duty: what a shell may offer for the last word of an unfinished command line, read from the tree of commands.
 * COMPLETE-1 It is derived from the commands themselves, so that a new command or option needs nothing here.
 * COMPLETE-2 Where nothing can be offered, the answer is empty, and the shell offers files.
 */
import type { Argument, Command, Option } from 'commander'

export interface Candidate {
  readonly word: string
  readonly description: string
}

/** What a command cannot know by itself: the values of an argument with this name. */
export type ValuesOf = (argument: string) => Promise<readonly Candidate[]>

/** `words`: the words after `troupe`. The last one is to be completed, and may be empty. */
export async function candidatesFor(
  program: Command,
  words: readonly string[],
  valuesOf: ValuesOf,
): Promise<Candidate[]> {
  const last = words.at(-1) ?? ''
  const found = await allCandidates(program, words.slice(0, -1), last, valuesOf)
  return found.filter(({ word }) => word.startsWith(last))
}

async function allCandidates(
  program: Command,
  earlier: readonly string[],
  last: string,
  valuesOf: ValuesOf,
): Promise<readonly Candidate[]> {
  const { command, position, open, isLiteral } = placeOf(program, earlier)
  if (open) return choices(open)
  if (last.startsWith('-') && !isLiteral) return visibleOptions(command).flatMap(optionWords)
  if (command.commands.length > 0)
    return command
      .createHelp()
      .visibleCommands(command)
      .map((child) => ({ word: child.name(), description: child.description() }))
  const argument =
    command.registeredArguments[position] ?? command.registeredArguments.findLast(({ variadic }) => variadic)
  if (argument === undefined) return []
  return argument.argChoices ? choices(argument) : valuesOf(argument.name())
}

interface Place {
  readonly command: Command
  /** How many arguments of the command there are already. */
  readonly position: number
  /** The option whose value comes next. */
  readonly open: Option | undefined
  /** True behind `--`: no word is an option. */
  readonly isLiteral: boolean
}

function placeOf(program: Command, words: readonly string[]): Place {
  let command = program
  let position = 0
  let open: Option | undefined
  let isLiteral = false
  for (const word of words) {
    const child = command.commands.find((one) => one.name() === word)
    if (open) open = undefined
    else if (word === '--') isLiteral = true
    else if (word.startsWith('-') && !isLiteral)
      open = word.includes('=')
        ? undefined
        : command.options.find((option) => option.required && (option.long === word || option.short === word))
    else if (child) command = child
    else position++
  }
  return { command, position, open, isLiteral }
}

function visibleOptions(command: Command): Option[] {
  return command.createHelp().visibleOptions(command)
}

function optionWords({ long, short, description }: Option): Candidate[] {
  return [long, short].flatMap((word) => (word ? [{ word, description }] : []))
}

function choices({ argChoices }: Option | Argument): Candidate[] {
  return (argChoices ?? []).map((word) => ({ word, description: '' }))
}
