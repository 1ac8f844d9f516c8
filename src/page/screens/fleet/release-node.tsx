/** Duty: a node that stands still: which it is, since when, what it holds; and giving that to other nodes at once. */
import { type ReactNode, useState } from 'react'
import type { ReleasedNode } from '../../../client/fleet/node-handle.ts'
import type { NodeSummary } from '../../../client/summaries.ts'
import { count } from '../../../words/amounts.ts'
import { formatDuration } from '../../../words/duration.ts'
import { nameAndKind } from '../../../words/worker-name.ts'
import { change } from '../../api/http.ts'
import { queries, useNode, useNodes } from '../../api/queries.ts'
import { BatchDialog } from '../../parts/dialog/batch-dialog.tsx'
import { say, sayError } from '../../parts/dialog/notes.tsx'
import { Command } from '../../parts/text/command.tsx'
import { Text } from '../../parts/text/text.tsx'

/** A node that has not reported for this long stands still: it reports every second while there is work, and every five seconds while there is none. */
const silentMs = 6_000

export function isSilent({ lastSeenMs }: Pick<NodeSummary, 'lastSeenMs'>): boolean {
  return lastSeenMs >= silentMs
}

function processText({ host, pid }: Pick<NodeSummary, 'host' | 'pid'>): string {
  return pid === null ? 'its process' : `process ${pid} on ${host ?? 'its host'}`
}

/** Shows nothing once the node reports again, or is forgotten. */
export function StandingNode({ id }: { readonly id: string }): ReactNode {
  const query = useNode(id)
  const hasOthers = useNodes().data?.nodes.some((one) => !isSilent(one)) ?? true
  const node = query.error === null ? query.data : undefined
  if (node === undefined || !isSilent(node)) return null
  return (
    <div className="help">
      <p>
        <Text
          text={`Node ${id}, ${processText(node)}, has not reported for ${formatDuration(node.lastSeenMs)}.`}
          isLine
        />{' '}
        {node.workers.length > 0 && `It holds ${count(node.workers.length, 'worker')}.`}
      </p>
      {!hasOthers && (
        <>
          <p>No other node is live. Start one, and it goes on with them:</p>
          <Command text="troupe node --workers ./workers" />
        </>
      )}
      <p className="muted">
        When their leases end, 15 s after its last report, other nodes go on with them. To wait no longer:
      </p>
      <ReleaseNode id={id} />
    </div>
  )
}

export function ReleaseNode({ id }: { readonly id: string }): ReactNode {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <button type="button" className="button" onClick={() => setAsking(true)}>
        Release its work
      </button>
      {isAsking && <ReleaseDialog id={id} onClose={() => setAsking(false)} />}
    </>
  )
}

function ReleaseDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }): ReactNode {
  const [reason, setReason] = useState('')
  const workers = useNode(id).data?.workers ?? []
  const onSubmit = async () => {
    try {
      const body = reason.trim() === '' ? {} : { reason: reason.trim() }
      const node = await change<ReleasedNode>('POST', `nodes/${id}/release`, { body })
      const what =
        node.released === 0 ? 'It held nothing any more' : `${count(node.released, 'worker')} can go on elsewhere`
      say({ text: `${what}. End ${processText(node)}, or let it go on: what it still held is refused.`, ms: 10_000 })
      await queries.invalidateQueries()
    } catch (error) {
      sayError(error)
    }
  }
  return (
    <BatchDialog
      title="Release the work of this node"
      submit="Release its work"
      names={workers.map(({ name, kind }) => nameAndKind(name, kind))}
      isHarsh
      onSubmit={() => void onSubmit()}
      onClose={onClose}
    >
      <p>
        Other nodes go on with it now, as if the leases had ended. What this node still commits is refused. Code of it
        that still runs may have effects outside until it notices.
      </p>
      <label className="labelled">
        <span className="label">Why? (May be left out.)</span>
        <input className="field" value={reason} onChange={({ target }) => setReason(target.value)} />
      </label>
    </BatchDialog>
  )
}
