/** A change of the node of `troupe dev`: code with these kinds begins to run. */
import { resolve } from 'node:path'
import type { NodeChange } from '../../../src/cli/host/child/reloaded-node.ts'

export function began(...names: string[]): NodeChange {
  const kinds = names.map(
    (kind) => ({ kind, description: '', sort: 'handler', model: null, tools: [], spawns: [], runs: [] }) as const,
  )
  return {
    type: 'began',
    nodeId: 'n',
    loaded: { kinds, problems: [], skipped: [], sources: [] },
    files: [resolve('a.ts')],
  }
}
