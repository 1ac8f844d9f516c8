/**
 * Duty: a noun of the command line (`session`, `worker`, `mailbox`) that holds its verbs, and the command `help`.
 * `troupe help session list` and `troupe session help list` print the help of the command that the words lead to.
 */
import type { Command } from 'commander'
import { closest } from '../core/check/closest.ts'
import { InputError } from '../core/errors.ts'
import { addExamples, type Example } from './options.ts'

export function addGroup(program: Command, noun: string, description: string, examples: readonly Example[]): Command {
  const group = addExamples(program.command(noun).description(description).helpCommand(false), examples)
  addHelpCommand(group, { hidden: true })
  return group
}

export function addHelpCommand(parent: Command, options: { readonly hidden?: boolean } = {}): void {
  parent
    .command('help', options)
    .argument('[command...]')
    .description('print help of a command')
    .helpOption(false)
    .action((words: readonly string[]) => {
      let command = parent
      for (const word of words) command = verbOf(command, word)
      command.help()
    })
}

function verbOf(command: Command, word: string): Command {
  const found = command.commands.find((child) => child.name() === word)
  if (found) return found
  const names = command.commands.map((child) => child.name())
  const near = closest(word, names)
  const suggestion = near === undefined ? '' : ` (Did you mean ${near}?)`
  throw new InputError(`unknown command '${word}'${suggestion}; see: ${pathOf(command)} --help`)
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}
