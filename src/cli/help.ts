/** `troupe help session list`, and `troupe session help list`: the help of the command that the words lead to. */
import type { Command } from 'commander'
import { closest } from '../core/check/closest.ts'
import { InputError } from '../core/errors.ts'

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
  const hint = near === undefined ? '' : ` (Did you mean ${near}?)`
  throw new InputError(`unknown command '${word}'${hint}; see: ${pathOf(command)} --help`)
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}
