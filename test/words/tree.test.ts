import { describe, expect, it } from 'vitest'
import type { WorkerReport } from '../../src/client/report.ts'
import { growTree, treeLeaves } from '../../src/words/tree.ts'

describe('treeLeaves', () => {
  it('draws children under their parents, in order', () => {
    const worker = (id: string, parentId: string | null, kind = 'reader') =>
      ({ id, parentId, kind, name: id }) as WorkerReport
    const tree = growTree([
      worker('root', null),
      worker('a', 'root'),
      worker('b', 'root'),
      worker('a1', 'a', 'a1'),
      worker('lost', 'gone'),
    ])
    expect(treeLeaves(tree).map(({ lead, name }) => lead + name)).toEqual([
      'root (reader)',
      '├─ a (reader)',
      '│  └─ a1',
      '└─ b (reader)',
      'lost (reader)',
    ])
  })
})
