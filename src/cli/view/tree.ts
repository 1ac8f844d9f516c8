/** Duty: the workers of a session as a tree, each under its parent. */
import type { WorkerReport } from '../../client/report.ts'
import { nameAndKind } from './worker-columns.ts'

export interface Branch {
  readonly worker: WorkerReport
  readonly children: readonly Branch[]
}

/** A worker with the lines that lead to it: `│  └─ docs (reader)`. */
export interface Leaf {
  readonly label: string
  readonly worker: WorkerReport
}

/** Parents come before children, and children in the order of their spawns. A worker whose parent is not in the list is a root. */
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
