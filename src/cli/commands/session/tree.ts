/** `troupe session tree <session>`: the workers of a session, each under its parent. */
import type { Command } from 'commander'
import { branchObject, withSessionIds } from '../../view/objects.ts'
import { tableLines } from '../../view/table.ts'
import { growTree, type Leaf, treeLeaves } from '../../view/tree.ts'
import { failureColumn, stateColumn, usageColumns } from '../../view/worker-columns.ts'
import { addVerb } from '../verb.ts'

export function addTreeCommand(group: Command): void {
  addVerb(group, {
    name: 'tree',
    description: 'the workers of a session, each under its parent',
    takes: 'session',
    examples: [['troupe session tree 0199…', '']],
    purpose: 'look',
    answer: async (troupe, { id }) => {
      const { session, workers } = await troupe.sessions.get(id).report()
      const tree = growTree(workers)
      const leaves = treeLeaves(tree)
      const columns = [
        { header: 'worker', value: ({ label }: Leaf) => label, shrinksTo: 14 },
        stateColumn<Leaf>(({ worker }) => worker),
        ...usageColumns<Leaf>(leaves, ({ worker }) => worker),
        failureColumn<Leaf>(({ worker }) => worker),
        { header: 'id', value: ({ worker }: Leaf) => worker.id },
      ]
      return {
        objects: [{ session: withSessionIds(session), tree: tree.map(branchObject) }],
        lines: (page) => tableLines(leaves, columns, page),
      }
    },
  })
}
