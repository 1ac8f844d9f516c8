/**
 * Duty: the rows of the tree of workers, in the order in which they stand, with what their subtrees need.
 * TREE-ROWS-1 Each worker has one row, also one whose parent is not there. Making the rows takes time in proportion to the workers.
 */
import type { WorkerReport } from '../../../../client/report.ts'

/** The part of a worker that the tree must know. */
export type TreeWorker = Pick<
  WorkerReport,
  'id' | 'name' | 'kind' | 'parentId' | 'activity' | 'holdup' | 'mailbox' | 'usage'
>

export interface TreeRow<Worker extends TreeWorker = TreeWorker> {
  readonly worker: Worker
  readonly level: number
  readonly children: number
  readonly isOpen: boolean
  /** How many workers below it wait for somebody. */
  readonly needsBelow: number
}

interface Node<Worker> {
  readonly worker: Worker
  readonly children: Node<Worker>[]
  needs: number
}

const needsOf = ({ holdup }: TreeWorker): boolean =>
  holdup?.needsSomebody === true && holdup.reason !== 'message' && holdup.reason !== 'pause'

/** `isOpen`: whether the children of this worker at this level are shown. */
export function treeRows<Worker extends TreeWorker>(
  workers: readonly Worker[],
  isOpen: (id: string, level: number) => boolean,
): TreeRow<Worker>[] {
  const nodes = new Map(
    workers.map((worker): [string, Node<Worker>] => [worker.id, { worker, children: [], needs: 0 }]),
  )
  const roots: Node<Worker>[] = []
  for (const node of nodes.values()) {
    const parent = node.worker.parentId === null ? undefined : nodes.get(node.worker.parentId)
    if (parent === undefined || parent === node) roots.push(node)
    else parent.children.push(node)
  }
  // Parents stand before their children, so from the end on each child has counted before its parent does.
  for (const node of [...nodes.values()].toReversed()) {
    const parent = node.worker.parentId === null ? undefined : nodes.get(node.worker.parentId)
    if (parent !== undefined && parent !== node) parent.needs += node.needs + (needsOf(node.worker) ? 1 : 0)
  }
  const rows: TreeRow<Worker>[] = []
  // It uses a stack, because a tree may be deeper than calls can be.
  const stack = roots.map((node) => ({ node, level: 0 })).toReversed()
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { node, level } = next
    const open = node.children.length > 0 && isOpen(node.worker.id, level)
    rows.push({ worker: node.worker, level, children: node.children.length, isOpen: open, needsBelow: node.needs })
    if (open) for (const child of node.children.toReversed()) stack.push({ node: child, level: level + 1 })
  }
  return rows
}
