/** Duty: the screen of nodes and pools: who is there, how much waits, and what `troupe doctor` finds. */
import { type ReactNode, useState } from 'react'
import type { NodeSummary } from '../../../client/summaries.ts'
import { count } from '../../../words/amounts.ts'
import { formatDuration } from '../../../words/duration.ts'
import { change } from '../../api/http.ts'
import { type HealthView, queries, useHealth, useNodes } from '../../api/queries.ts'
import { Dialog } from '../../parts/dialog/dialog.tsx'
import { say, sayError } from '../../parts/dialog/notes.tsx'
import { type Column, Table } from '../../parts/list/table.tsx'
import { Empty, Waiting } from '../../parts/state/empty.tsx'
import { Findings } from '../../parts/state/findings.tsx'
import { kindsOfNode } from '../../parts/state/node-kinds.ts'
import { NodeState } from '../../parts/state/state.tsx'
import { Line, Text } from '../../parts/text/text.tsx'
import { Age, ageText } from '../../parts/text/time.tsx'
import { useTitle } from '../../parts/text/title.tsx'
import { isSilent, ReleaseNode } from './release-node.tsx'

export function FleetScreen(): ReactNode {
  useTitle('Fleet')
  const nodes = useNodes()
  const health = useHealth()
  return (
    <div className="screen-body">
      <section className="box" aria-label="Nodes">
        <div className="box-head">
          <h2>Nodes</h2>
          {health.data !== undefined && <PauseAll paused={health.data.paused} />}
        </div>
        <Waiting query={nodes} what="nodes" />
        {nodes.data?.nodes.every(({ stalled }) => stalled) && (
          <Empty commands={['troupe node', 'troupe dev']}>No node is live, so nothing runs. Start one:</Empty>
        )}
        {nodes.data !== undefined && nodes.data.nodes.length > 0 && (
          <Table name="Nodes" columns={nodeColumns} rows={nodes.data.nodes} keyOf={({ id }) => id} />
        )}
      </section>
      {health.data !== undefined && <Pools health={health.data} />}
      <section className="box" aria-label="Findings">
        <div className="box-head">
          <h2>What doctor finds</h2>
        </div>
        <Waiting query={health} what="the health of Redis, nodes and queues" />
        {health.data !== undefined && <Findings findings={health.data.findings} />}
      </section>
    </div>
  )
}

/** The first kinds of a node; all of them unfold. */
function Kinds({ kinds }: Pick<NodeSummary, 'kinds'>): ReactNode {
  const { first, others } = kindsOfNode(kinds)
  if (others.length === 0) return <Text text={first} isLine />
  return (
    <details>
      <summary>
        <Text text={first} isLine /> <span className="muted">and {others.length} more</span>
      </summary>
      <Text text={others.join(', ')} isLine />
    </details>
  )
}

const nodeColumns: readonly Column<NodeSummary>[] = [
  { head: 'State', cell: (node) => <NodeState node={node} isSilent={isSilent(node)} /> },
  { head: 'Node', cell: ({ id }) => <Line text={id} className="mono" />, className: 'wide' },
  {
    head: 'Host',
    cell: ({ host, pid }) => <Text text={`${host ?? 'unknown'}${pid === null ? '' : ` (${pid})`}`} isLine />,
  },
  { head: 'Slots', cell: ({ slots }) => slots, className: 'number wide' },
  { head: 'Pools', cell: ({ pools }) => <Line text={pools.join(', ')} />, className: 'wide' },
  { head: 'Kinds', cell: ({ kinds }) => <Kinds kinds={kinds} />, className: 'wide grow' },
  { head: 'Last seen', cell: ({ lastSeenMs }) => `${ageText(lastSeenMs)} ago`, className: 'number' },
  {
    head: <span className="spoken">Release</span>,
    cell: (node) => isSilent(node) && <ReleaseNode id={node.id} />,
    className: 'number',
  },
]

const poolColumns: readonly Column<HealthView['pools'][number]>[] = [
  { head: 'Pool', cell: ({ pool }) => <Line text={pool} /> },
  { head: 'Waiting workers', cell: ({ queued }) => queued, className: 'number' },
  {
    head: 'Oldest waits',
    cell: ({ oldestMs }) => (oldestMs === null ? '–' : formatDuration(oldestMs)),
    className: 'number',
  },
  { head: 'Busy', cell: ({ busy }) => busy, className: 'number' },
]

function Pools({ health: { pools, running, timers } }: { readonly health: HealthView }): ReactNode {
  return (
    <section className="box" aria-label="Pools">
      <div className="box-head">
        <h2>Pools</h2>
        <span className="muted">
          {count(running, 'turn')} running, {count(timers, 'timer')} set
        </span>
      </div>
      <Table name="Pools" columns={poolColumns} rows={pools} keyOf={({ pool }) => pool} />
    </section>
  )
}

function PauseAll({ paused }: Pick<HealthView, 'paused'>): ReactNode {
  const [isAsking, setAsking] = useState(false)
  const [reason, setReason] = useState('')
  const act = async (path: 'pause' | 'resume', body: object, done: string) => {
    setAsking(false)
    try {
      await change('POST', path, { body })
      say({ text: done })
      await queries.invalidateQueries({ queryKey: ['health'] })
    } catch (error) {
      sayError(error)
    }
  }
  if (paused !== null)
    return (
      <>
        <span className="tag warn">
          all sessions are paused since <Age since={paused.at} />
        </span>
        <button type="button" className="button main" onClick={() => void act('resume', {}, 'Everything goes on.')}>
          Resume everything
        </button>
      </>
    )
  const onSubmit = () =>
    void act('pause', reason.trim() === '' ? {} : { reason: reason.trim() }, 'No node takes up work any more.')
  return (
    <>
      <button type="button" className="button harsh" onClick={() => setAsking(true)}>
        Pause everything
      </button>
      {isAsking && (
        <Dialog
          title="Pause all sessions"
          submit="Pause everything"
          isHarsh
          onSubmit={onSubmit}
          onClose={() => setAsking(false)}
        >
          <p>
            No node takes up work until somebody resumes, and turns end at their next step. What is sent waits in its
            order.
          </p>
          <label className="labelled">
            <span className="label">Why? (May be left out.)</span>
            <input className="field" value={reason} onChange={({ target }) => setReason(target.value)} />
          </label>
        </Dialog>
      )}
    </>
  )
}
