/** `troupe session tree <session>`: the workers of a session, each under its parent. */
import type { Command } from 'commander'
import type { Report, WorkerReport } from '../../../client/report.ts'
import { helpfulCommands, holdupTexts } from '../../../words/holdup-text.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { growTree, type Leaf, treeLeaves } from '../../../words/tree.ts'
import { branchObject, withSessionIds } from '../../view/objects.ts'
import type { Page } from '../../view/page.ts'
import { tableLines } from '../../view/table.ts'
import { failureColumn, stateColumn, usageColumns, waitsColumn } from '../../view/worker-columns.ts'
import { addVerb } from '../verb.ts'

type WorkerLeaf = Leaf<WorkerReport>

export function addTreeCommand(group: Command): void {
  addVerb(group, {
    name: 'tree',
    description: 'the workers of a session, each under its parent',
    takes: 'session',
    examples: [['troupe session tree 0199…', '']],
    purpose: 'look',
    answer: async (troupe, { id }) => {
      const report = await troupe.sessions.get(id).report()
      const tree = growTree(report.workers)
      return {
        objects: [{ session: withSessionIds(report.session), tree: tree.map(branchObject) }],
        lines: (page) => sessionTreeLines(report, page),
      }
    },
  })
}

/** At least this much of each name is shown, behind the lines that lead to it. */
const nameLeast = 12

export function sessionTreeLines({ session, workers }: Report, page: Page): readonly string[] {
  const leaves = treeLeaves(growTree(workers))
  const widestLead = leaves.reduce((widest, { lead }) => Math.max(widest, lead.length), 0)
  const columns = [
    { header: 'worker', value: ({ lead, name }: WorkerLeaf) => lead + name, shrinksTo: widestLead + nameLeast },
    stateColumn<WorkerLeaf>(({ worker }) => worker),
    ...waitsColumn<WorkerLeaf>(leaves, ({ worker }) => worker, Date.now()),
    ...usageColumns<WorkerLeaf>(leaves, ({ worker }) => worker),
    failureColumn<WorkerLeaf>(({ worker }) => worker),
    // Without its ids it is still a tree, and `troupe worker list --session` has them.
    { header: 'id', value: ({ worker }: WorkerLeaf) => worker.id, leftOut: 4 },
  ]
  return [...tableLines(leaves, columns, page), ...footLines(session, workers)]
}

/** Why the session does not go on, and what to do. */
function footLines({ holdups }: Report['session'], workers: readonly WorkerReport[]): string[] {
  if (holdups.length === 0) return []
  const commands = helpfulCommands(holdups).map((command) => `  ${command}`)
  return ['', ...holdupTexts(holdups, workers, Date.now()).map(escapeLine), ...commands]
}
