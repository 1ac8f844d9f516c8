/** `troupe tools`: the tools of the local worker files, and the kinds that use them. */
import type { Command } from 'commander'
import type { WorkerDefinition } from '../../core/definition/define-worker.ts'
import type { Effect, Tool } from '../../core/definition/tool/define-tool.ts'
import { plainConfigOf } from '../host/connection.ts'
import { loadLocalKinds, workersFolder } from '../host/worker-files.ts'
import { addExamples, addJsonOption, addWorkersOption } from '../options.ts'
import { safe } from '../terminal/output.ts'
import { listing } from '../view/answer.ts'
import type { Column } from '../view/table.ts'
import { printAnswer } from './verb.ts'

interface ToolsFlags {
  readonly workers?: string
  readonly json?: boolean
}

interface ToolRow {
  readonly name: string
  readonly effect: Effect
  readonly kinds: readonly string[]
  readonly description: string
}

export function addToolsCommand(program: Command): void {
  const command = program.command('tools').description('tools of the local worker files')
  addJsonOption(addWorkersOption(command))
  addExamples(command, [
    ['troupe tools', 'the tools of ./workers, without Redis'],
    ['troupe tools --json | jq -r \'select(.effect == "once") | .name\'', 'tools that a crash must not repeat'],
  ])
  command.action(async (flags: ToolsFlags) => {
    const folder = await workersFolder(await plainConfigOf(flags))
    const rows = folder === undefined ? [] : await toolRows(await loadLocalKinds(folder))
    const empty =
      folder === undefined
        ? 'There is no folder of worker files; name one with --workers.'
        : `No kind in ${safe(folder)} has tools.`
    printAnswer(listing(rows, { columns, empty }), flags)
  })
}

/** Sorted by name. Different tools with the same name are different rows. */
export async function toolRows(kinds: ReadonlyMap<string, WorkerDefinition>): Promise<ToolRow[]> {
  const { toolsOf } = await import('../view/definition-facts.ts')
  const users = new Map<Tool, string[]>()
  for (const [kind, definition] of kinds) {
    for (const tool of toolsOf(definition)) users.set(tool, [...(users.get(tool) ?? []), kind])
  }
  return [...users]
    .map(([{ name, effect, description }, kinds]) => ({ name, effect, kinds: kinds.toSorted(), description }))
    .sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1))
}

const columns: Column<ToolRow>[] = [
  { header: 'tool', value: ({ name }) => name },
  { header: 'effect', value: ({ effect }) => effect },
  { header: 'kinds', value: ({ kinds }) => kinds.join(', '), shrinksTo: 12 },
  { header: 'description', value: ({ description }) => description, shrinksTo: 20 },
]
