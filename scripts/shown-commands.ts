/** Duty: compare the commands that the documentation shows with the program (DOCS-6). The page of all commands is generated from the program. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { buildProgram } from '../src/cli/program.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = globSync(['README.md', 'workers/README.md', 'docs/**/*.{md,yaml}'], {
  cwd: root,
  exclude: ['docs/reference/commands.md'],
})
const shownForm = /^```[\s\S]*?^ *```$|`[^`\n]+`|^ {4}troupe .*$/gm
const commandForm = /(?<=npx \.\.\/|(?<![-/\w]|ACL SETUSER ))troupe (?:-- )?([a-z]+(?=[\s`]|$)[^\n`#|;&]*)/gm

export function commandProblems(): string[] {
  const program = buildProgram()
  return pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(shownForm)].flatMap(([shown]) =>
      [...shown.matchAll(commandForm)].flatMap(([line, words = '']) =>
        problemsOf(program, words).map((problem) => `${page}: ${problem} in "${line.trim()}"`),
      ),
    ),
  )
}

function problemsOf(program: Command, line: string): string[] {
  const [command, [next = '']] = commandOf(program, line.trim().split(/\s+/))
  if (command === program) return [`there is no command ${next}`]
  const isVerb = command.registeredArguments.length === 0 && command.commands.length > 0 && /^[a-z]+$/.test(next)
  const flags = [...line.matchAll(/(?<=\s)--[a-z-]+/g)].map(([flag]) => flag)
  const unknown = flags.filter((flag) => flag !== '--help' && !command.options.some(({ long }) => long === flag))
  return [
    ...(isVerb ? [`${command.name()} has no ${next}`] : []),
    ...unknown.map((flag) => `${command.name()} has no option ${flag}`),
    ...valueProblems(command, line),
  ]
}

/** What an option says of the value that it is shown with. A path, and a value in brackets, in quotes or with …, stands for any. */
function valueProblems(command: Command, line: string): string[] {
  return [...line.matchAll(/\s(--[a-z-]+)[ =](\w[\w.,:=/]*)(?=\s|$)/g)].flatMap(([, flag = '', value = '']) => {
    const option = command.options.find(({ long }) => long === flag)
    if (option === undefined || option.isBoolean()) return []
    try {
      option.parseArg?.(value, undefined)
      return []
    } catch (thrown) {
      return [`${command.name()} ${flag} takes no ${value} (${(thrown as Error).message})`]
    }
  })
}

/** The command that the words name, and the words behind it. */
function commandOf(command: Command, words: readonly string[]): [Command, readonly string[]] {
  const next = command.commands.find((one) => one.name() === words[0])
  return next === undefined ? [command, words] : commandOf(next, words.slice(1))
}
