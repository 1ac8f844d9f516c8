/** `troupe session tree <id>`: the workers of a session under their parents. */
import type { Command } from 'commander'
import type { WorkerReport } from '../../client/report.ts'
import { withTroupe } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags } from '../options.ts'
import { printJson, printTable } from '../terminal/output.ts'
import { failureColumn, nameAndKind, stateColumn, usageColumns } from '../view/worker-columns.ts'

export interface Branch {
  readonly worker: WorkerReport
  readonly children: readonly Branch[]
}

interface Leaf {
  readonly label: string
  readonly worker: WorkerReport
}

export function addSessionTreeCommand(group: Command): void {
  const command = group
    .command('tree')
    .description('the workers of a session under their parents')
    .argument('<session>', 'id of the session')
  addConnectionOptions(command)
  addExamples(command, [['troupe session tree 0199…', '']])
  command.action((id: string, flags: ConnectionFlags) =>
    withTroupe(flags, 'look', async (troupe) => {
      const { session, workers } = await troupe.sessions.get(id).report()
      const roots = growTree(workers)
      if (flags.json) {
        printJson({ session, tree: roots.map(toJson) })
        return
      }
      const leaves = treeLeaves(roots)
      printTable(leaves, [
        { header: 'worker', value: ({ label }: Leaf) => label, shrinksTo: 14 },
        stateColumn<Leaf>(({ worker }) => worker),
        ...usageColumns<Leaf>(leaves, ({ worker }) => worker),
        failureColumn<Leaf>(({ worker }) => worker),
        { header: 'id', value: ({ worker }: Leaf) => worker.id },
      ])
    }),
  )
}

/** Parents before children, children in the order they were spawned. Who has no parent here is a root. */
export function growTree(workers: readonly WorkerReport[]): Branch[] {
  const known = new Set(workers.map(({ id }) => id))
  const childrenOf = Map.groupBy(workers, ({ parentId }) =>
    parentId !== null && known.has(parentId) ? parentId : null,
  )
  const grow = (parent: string | null): Branch[] =>
    (childrenOf.get(parent) ?? []).map((worker) => ({ worker, children: grow(worker.id) }))
  return grow(null)
}

export function treeLeaves(branches: readonly Branch[], indent: string | null = null): Leaf[] {
  return branches.flatMap(({ worker, children }, index) => {
    const isLast = index === branches.length - 1
    const name = nameAndKind(worker.name, worker.kind)
    const label = indent === null ? name : `${indent}${isLast ? '└─ ' : '├─ '}${name}`
    const deeper = indent === null ? '' : `${indent}${isLast ? '   ' : '│  '}`
    return [{ label, worker }, ...treeLeaves(children, deeper)]
  })
}

function toJson({ worker, children }: Branch): object {
  return { ...worker, children: children.map(toJson) }
}
