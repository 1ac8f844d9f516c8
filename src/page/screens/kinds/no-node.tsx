/** Duty: say how the work of a kind that no live node hosts goes on: which nodes there are, what they host, and what to start. */
import type { ReactNode } from 'react'
import type { NodeSummary } from '../../../client/summaries.ts'
import { useKinds, useNodes } from '../../api/queries.ts'
import { kindsOfNode } from '../../parts/state/node-kinds.ts'
import { Command } from '../../parts/text/command.tsx'
import { Text } from '../../parts/text/text.tsx'

const nodesShown = 4

export function NoNode({ kind, children }: { readonly kind: string; readonly children?: ReactNode }): ReactNode {
  const kinds = useKinds().data?.kinds
  const live = useNodes().data?.nodes.filter(({ stalled }) => stalled !== true)
  if (kinds === undefined || live === undefined) return null
  const known = kinds.find((one) => one.kind === kind)
  const [name = kind] = kind.split('/').slice(-1)
  return (
    <div className="help">
      <p>
        {known === undefined
          ? 'No node has ever hosted this kind. '
          : `A node hosted it before, in the pool ${known.pool}. `}
        {live.length === 0 ? 'No node is live.' : 'These nodes are live:'}
      </p>
      {live.length > 0 && (
        <ul>
          {live.slice(0, nodesShown).map((node) => (
            <li key={node.id}>
              <Text text={nodeText(node)} isLine />
            </li>
          ))}
          {live.length > nodesShown && <li className="muted">and {live.length - nodesShown} more</li>}
        </ul>
      )}
      <p>
        Start a node whose folder has <code>{kind}.ts</code>. The work goes on there by itself:
      </p>
      <Command text="troupe node --workers ./workers" />
      <p>
        Was the file renamed? Then let <code>{kind}.ts</code> hold this line, with the new name in it:
      </p>
      <Command text={`export { default } from './new-${name}.ts'`} />
      {children}
    </div>
  )
}

/** `host (12), pools default: echo, greeter` */
function nodeText({ host, pid, pools, kinds }: NodeSummary): string {
  const where = `${host ?? 'unknown host'}${pid === null ? '' : ` (${pid})`}`
  const { first, others } = kindsOfNode(kinds)
  const more = others.length > 0 ? ` and ${others.length} more` : ''
  return `${where}, pool${pools.length === 1 ? '' : 's'} ${pools.join(', ')}: ${first}${more}`
}
