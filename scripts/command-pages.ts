/** Duty: the help of all commands as a page, read from the tree of commands in this process. */
import type { Command } from 'commander'
import { buildProgram } from '../src/cli/program.ts'

/** The help of the program, and under a heading of its own the help of each command that it shows. */
export function commandPages(): string {
  const program = buildProgram()
  return ['```text', helpOf(program), '```', ...program.commands.flatMap((command) => pagesOf(command, []))].join('\n')
}

function pagesOf(command: Command, parents: readonly string[]): string[] {
  if (command.name() === 'help' || !isShown(command)) return []
  const words = [...parents, command.name()]
  const heading = `${'#'.repeat(words.length + 1)} troupe ${words.join(' ')}`
  const children = command.commands.flatMap((child) => pagesOf(child, words))
  return ['', heading, '', '```text', helpOf(command), '```', ...children]
}

function isShown(command: Command): boolean {
  const { parent } = command
  return parent === null || parent.createHelp().visibleCommands(parent).includes(command)
}

/** The help of a command as it is printed into a pipe: without colours, 80 columns wide. */
function helpOf(command: Command): string {
  let help = ''
  command.configureOutput({
    writeOut: (text) => {
      help += text
    },
    getOutHelpWidth: () => 80,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  return help.trim()
}
