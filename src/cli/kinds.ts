/** `troupe kinds`: what can be run: what nodes host, and what the worker files here would. */
import type { Command } from 'commander'
import type { KindSummary } from '../client/client.ts'
import type { Config } from '../config.ts'
import { configOf, connectTo } from './connection.ts'
import { exitCodes, toComplaint } from './exit-code.ts'
import { loadLocalKinds } from './local-kinds.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags } from './options.ts'
import { printRows, safe, tell } from './output.ts'
import type { Column } from './table.ts'
import { workersFolder } from './workers-folder.ts'

interface KindRow extends KindSummary {
  /** Whether a file of the local folder defines it. */
  readonly local: boolean
}

export function addKindsCommand(program: Command): void {
  const command = program
    .command('kinds')
    .description('what nodes and local files can run')
    .option('--workers <folder>', 'folder of worker files; default: TROUPE_WORKERS, else ./workers')
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe kinds', ''],
    ['troupe kinds --workers ./agents', 'also a check that all files there can be loaded'],
  ])
  command.action(async (flags: ConnectionFlags & { workers?: string }) => {
    const config = await configOf(flags)
    const folder = await workersFolder(config)
    const local = folder === undefined ? undefined : await localKinds(folder)
    const hosted = await hostedKinds(config, local !== undefined)
    printRows(
      joinKinds(hosted, local ?? []),
      columns,
      flags,
      'There are no kinds: no node is live, and no worker file is here.',
    )
  })
}

/** Without worker files here, Redis is all there is to ask; with them it may be away. */
async function hostedKinds(config: Config, mayFail: boolean): Promise<KindSummary[]> {
  try {
    await using troupe = await connectTo(config)
    return await troupe.kinds()
  } catch (thrown) {
    const complaint = toComplaint(thrown)
    if (!mayFail || complaint.exitCode !== exitCodes.unavailable) throw thrown
    tell(`troupe: only the worker files here are listed: ${safe(complaint.message)}`)
    return []
  }
}

async function localKinds(folder: string): Promise<KindSummary[]> {
  return [...(await loadLocalKinds(folder))].map(([kind, { pool, description }]) => ({
    kind,
    pool: pool ?? 'default',
    description: description ?? '',
    hosted: false,
    nodes: 0,
  }))
}

function joinKinds(hosted: readonly KindSummary[], local: readonly KindSummary[]): KindRow[] {
  const here = new Set(local.map(({ kind }) => kind))
  const elsewhere = new Set(hosted.map(({ kind }) => kind))
  return [...hosted, ...local.filter(({ kind }) => !elsewhere.has(kind))]
    .map((summary) => ({ ...summary, local: here.has(summary.kind) }))
    .sort((a, b) => (a.kind < b.kind ? -1 : 1))
}

const columns: Column<KindRow>[] = [
  { header: 'kind', value: ({ kind }) => kind },
  { header: 'nodes', value: ({ nodes }) => nodes, align: 'right' },
  { header: 'here', value: ({ local }) => (local ? 'yes' : '') },
  { header: 'pool', value: ({ pool }) => pool },
  { header: 'description', value: ({ description }) => description, shrinksTo: 20 },
]
