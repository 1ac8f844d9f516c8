/** Duty: a noun of the command line (`session`, `worker`, `mailbox`), under which its verbs stand. */
import type { Command } from 'commander'
import { addHelpCommand } from '../help.ts'
import { addExamples, type Example } from '../options.ts'

export function addGroup(program: Command, noun: string, description: string, examples: readonly Example[]): Command {
  const group = addExamples(program.command(noun).description(description).helpCommand(false), examples)
  addHelpCommand(group, { hidden: true })
  return group
}
