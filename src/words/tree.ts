/** Duty: the workers of a session as a tree, each under its parent. */
import { nameAndKind } from './worker-name.ts'

/** What a worker must have to stand in a tree. */
export interface Placed {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly parentId: string | null
}

export interface Branch<Worker extends Placed> {
  readonly worker: Worker
  readonly children: readonly Branch<Worker>[]
}

/** A worker with the lines that lead to it: `│  └─ docs (reader)`. */
export interface Leaf<Worker extends Placed> {
  readonly lead: string
  readonly name: string
  readonly worker: Worker
}

/** Parents come before children, and children in the order of their spawns. A worker whose parent is not in the list is a root. */
export function growTree<Worker extends Placed>(workers: readonly Worker[]): Branch<Worker>[] {
  const known = new Set(workers.map(({ id }) => id))
  const childrenOf = Map.groupBy(workers, ({ parentId }) =>
    parentId !== null && known.has(parentId) ? parentId : null,
  )
  const grow = (parent: string | null): Branch<Worker>[] =>
    (childrenOf.get(parent) ?? []).map((worker) => ({ worker, children: grow(worker.id) }))
  return grow(null)
}

export function treeLeaves<Worker extends Placed>(
  branches: readonly Branch<Worker>[],
  indent: string | null = null,
): Leaf<Worker>[] {
  return branches.flatMap(({ worker, children }, index) => {
    const isLast = index === branches.length - 1
    const lead = indent === null ? '' : `${indent}${isLast ? '└─ ' : '├─ '}`
    const deeper = indent === null ? '' : `${indent}${isLast ? '   ' : '│  '}`
    return [{ lead, name: nameAndKind(worker.name, worker.kind), worker }, ...treeLeaves(children, deeper)]
  })
}
