/** `troupe kinds`: the kinds that nodes host, and the kinds of the local worker files. */
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { KindSummary } from '../../client/summaries.ts'
import type { Config } from '../../config.ts'
import { ConfigError, InputError } from '../../core/errors.ts'
import { defaultPool } from '../../core/ids.ts'
import { count } from '../../words/amounts.ts'
import { exitCodes, toComplaint } from '../exit-code.ts'
import { configOf, connectTo, plainConfigOf } from '../host/connection.ts'
import { makeFolder } from '../host/make-folder.ts'
import { loadLocalKinds, workersFolder } from '../host/worker-files.ts'
import { addConnectionOptions, addExamples, addWorkersOption, type ConnectionFlags } from '../options.ts'
import { print, safe, tell } from '../terminal/output.ts'
import { listing } from '../view/answer.ts'
import type { DefinitionFacts } from '../view/definition-facts.ts'
import { kindTypesMark, kindTypesText } from '../view/kind-types-text.ts'
import type { Column } from '../view/table.ts'
import { printAnswer } from './verb.ts'

interface LocalKind extends KindSummary, DefinitionFacts {}

/** The facts that only a worker file has are null without a local file. */
interface KindRow extends KindSummary {
  /** Whether a file of the local folder defines it. */
  readonly local: boolean
  readonly sort: DefinitionFacts['sort'] | null
  readonly model: string | null
  readonly tools: readonly string[] | null
  readonly spawns: readonly string[] | null
  readonly runs: readonly string[] | null
}

interface KindsFlags extends ConnectionFlags {
  readonly workers?: string
  readonly types?: boolean
  readonly out?: string
}

export function addKindsCommand(program: Command): void {
  const command = program.command('kinds').description('kinds that nodes host, and kinds of local files')
  addConnectionOptions(addWorkersOption(command))
    .addOption(
      new Option(
        '--types',
        'print a TypeScript declaration of the kinds of local files, for the compiler of your project',
      ).conflicts('json'),
    )
    .addOption(
      new Option('--out <file>', 'write the declaration into this file').implies({ types: true }).conflicts('json'),
    )
  addExamples(command, [
    ['troupe kinds', ''],
    ['troupe kinds --workers ./agents', 'also a check that all files there can be loaded'],
    ['troupe kinds --out kinds.d.ts', 'names, inputs and results are known to the compiler'],
  ])
  command.action(async (flags: KindsFlags) => {
    if (flags.types) {
      await declareKinds(await workersFolder(await plainConfigOf(flags)), flags.out)
      return
    }
    const config = await configOf(flags)
    const folder = await workersFolder(config)
    const local = folder === undefined ? undefined : await localKinds(folder)
    const hosted = await hostedKinds(config, local !== undefined)
    const rows = joinKinds(hosted, local ?? [])
    const answer = listing(rows, {
      columns: columnsFor(rows, config.model),
      empty: 'There are no kinds: no node is live, and there are no local worker files.',
    })
    printAnswer(answer, flags)
  })
}

/** Prints the declaration of the kinds, or writes it. Loads no file, so that one that does not compile yet is declared too. */
async function declareKinds(folder: string | undefined, out: string | undefined): Promise<void> {
  if (folder === undefined)
    throw new ConfigError('there is no folder of worker files: name one with --workers or TROUPE_WORKERS.')
  const { kindsOfFiles } = await import('../../compose.ts')
  const kinds = await kindsOfFiles(folder)
  const file = resolve(out ?? 'kinds.d.ts')
  const text = kindTypesText(kinds, file)
  if (out === undefined) {
    for (const line of text.trimEnd().split('\n')) print(line)
    return
  }
  const before = await readFile(file, 'utf8').catch(() => '')
  if (before !== '' && !before.startsWith(kindTypesMark))
    throw new InputError(`the file ${out} was not written by this command: name another one, or remove it.`)
  try {
    await makeFolder(dirname(file))
    await writeFile(file, text)
  } catch (cause) {
    throw new InputError(`the file ${out} cannot be written: ${(cause as NodeJS.ErrnoException).code}.`, { cause })
  }
  tell(`troupe: ${count(kinds.length, 'kind')} in ${safe(out)}`)
}

/** Without local worker files Redis is the only source; with them Redis may be away. */
async function hostedKinds(config: Config, mayFail: boolean): Promise<KindSummary[]> {
  try {
    await using troupe = await connectTo(config, 'look')
    return await troupe.kinds()
  } catch (thrown) {
    const complaint = toComplaint(thrown)
    if (!mayFail || complaint.exitCode !== exitCodes.unavailable) throw thrown
    tell(`troupe: only the local worker files are listed: ${safe(complaint.message)}`)
    return []
  }
}

async function localKinds(folder: string): Promise<LocalKind[]> {
  const { definitionFacts } = await import('../view/definition-facts.ts')
  return [...(await loadLocalKinds(folder))].map(([kind, definition]) => ({
    kind,
    pool: definition.pool ?? defaultPool,
    description: definition.description ?? '',
    hosted: false,
    nodes: 0,
    ...definitionFacts(definition),
  }))
}

const unknown = { sort: null, model: null, tools: null, spawns: null, runs: null }

function joinKinds(hosted: readonly KindSummary[], local: readonly LocalKind[]): KindRow[] {
  const here = new Map(local.map((summary) => [summary.kind, summary]))
  const elsewhere = new Set(hosted.map(({ kind }) => kind))
  return [...hosted, ...local.filter(({ kind }) => !elsewhere.has(kind))]
    .map((summary) => {
      const { sort, model, tools, spawns, runs } = here.get(summary.kind) ?? unknown
      return { ...summary, local: here.has(summary.kind), sort, model, tools, spawns, runs }
    })
    .sort((a, b) => (a.kind < b.kind ? -1 : 1))
}

/**
 * An agent that names no model uses the default model, if this process has one. What no kind has takes no column: the others then fit an ordinary
 * terminal.
 */
function columnsFor(rows: readonly KindRow[], modelDefault: string | undefined): Column<KindRow>[] {
  const model = (row: KindRow) => row.model ?? (row.sort === 'agent' ? (modelDefault ?? 'default') : '')
  const some: Column<KindRow>[] = [
    { header: 'model', value: model, shrinksTo: 12 },
    { header: 'tools', value: ({ tools }) => tools?.join(', '), shrinksTo: 12 },
    { header: 'spawns', value: ({ spawns }) => spawns?.join(', '), shrinksTo: 12 },
    { header: 'runs', value: ({ runs }) => runs?.join(', '), shrinksTo: 12 },
  ]
  return [
    { header: 'kind', value: ({ kind }) => kind },
    { header: 'nodes', value: ({ nodes }) => nodes, align: 'right' },
    { header: 'here', value: ({ sort }) => sort },
    { header: 'pool', value: ({ pool }) => pool },
    ...some.filter(({ value }) => rows.some(value)),
    { header: 'description', value: ({ description }) => description, shrinksTo: 20 },
  ]
}
